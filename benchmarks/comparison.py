"""What the comparison of one pair of answers costs, in microseconds of CPU; nothing is remembered between pairs."""

import time
from collections.abc import Callable
from typing import Any

from sluicegate.gateway.compare import compare
from sluicegate.gateway.texts.facts import facts_of
from sluicegate.gateway.texts.normal import normal
from sluicegate.gateway.texts.similarity import similarity

ENGLISH = (
    "Thank you for contacting us about order 88213. We checked the shipment this morning: it left our warehouse in Hamburg "
    "on 3 March 2026 and should reach you by Thursday at 5 pm. The refund of $49.90 for the damaged mug was approved and "
    "will be on your card within 5 business days. You don't need to send the mug back. First open the parcel carefully, "
    "then compare it with the delivery note before you sign. If anything is missing, please write to help@shop.example or "
    "call 030 1234567. We are open from 9 am to 5 pm, except on public holidays. As a small apology you get 20% off your "
    "next order; the code SAVE-20 is valid until June 30. Have a lovely day and thank you for your patience!"
)
CHINESE = (
    "感谢您就订单88213与我们联系。我们今天上午查询了物流：包裹已于2026年3月3日从汉堡仓库发出，预计周四下午五点之前送达。破损马克杯的退款49.90元已经批准，五个工作日内会退回您的"
    "银行卡，您不需要寄回杯子。请先仔细打开包裹，再与送货单核对，然后签收。如有缺少，请发邮件至help@shop.example或拨打01012345678。我们的服务时间是上午九点到下午五点，法定节假日"
    "休息。作为补偿，您下次购物可享百分之二十的优惠，优惠码SAVE-20在六月三十日之前有效。祝您生活愉快，感谢您的耐心等待！"
)
REPEATS = 300


def comparison() -> dict[str, Any]:
    """The fastest of 300 each."""
    english = (ENGLISH, ENGLISH.replace("Thank you", "Thanks").replace("please write", "kindly write"))
    chinese = (CHINESE, CHINESE.replace("请先", "烦请先").replace("感谢您的耐心", "谢谢您的耐心"))
    fields = {f"field_{number}": number for number in range(40)}
    longest = (ENGLISH * 12)[:8_000]
    parts: dict[str, Callable[[], Any]] = {
        f"English, {len(ENGLISH)} characters": lambda: compare(*english),
        f"Chinese, {len(CHINESE)} characters": lambda: compare(*chinese),
        "of the English pair: facts of one text": lambda: facts_of(normal(english[0])),
        "of the English pair: similarity": lambda: similarity(*english),
        "English, the same text": lambda: compare(ENGLISH, ENGLISH),
        "40 fields without text": lambda: compare(fields, dict(fields)),
        "English, 8,000 characters": lambda: compare(longest, longest.replace("Thank you", "Thanks")),
    }
    return {f"{name}, µs": round(_fastest(part) * 1e6, 1) for name, part in parts.items()}


def _fastest(part: Callable[[], Any]) -> float:
    spent = []
    for _ in range(REPEATS):
        facts_of.cache_clear()
        start = time.process_time()
        part()
        spent.append(time.process_time() - start)
    return min(spent)
