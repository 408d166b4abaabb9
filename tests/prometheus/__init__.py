"""A real Prometheus for tests: the fixture `prometheus`, one for each process that runs tests.

    def test_it(prometheus: Prometheus) -> None:
        with prometheus.scraping("shop", port, labels={"zone": "a"}) as job:  # http://127.0.0.1:<port>/metrics
            job.fresh()                                  # a scrape that began after this call is stored
            (sample,) = prometheus.query("sum(up)")      # or at=<Unix seconds>; Sample(labels, value, at)
        prometheus.url                                   # http://127.0.0.1:<port>, for a client of your own

It scrapes every 0.5 s, keeps exemplars, takes remote writes, and adds no label but `job` and `instance`. The series of
a job that ends are deleted; what an exporter stops to show is stale at the next scrape. Files of rules: `with prometheus.ruled(path):`. What to serve: `tests.prometheus.exporter`,
a server whose text the test sets. `make prometheus` builds the program, once, into ~/.cache/sluicegate.
"""
