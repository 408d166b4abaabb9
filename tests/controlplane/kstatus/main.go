// kstatus reads an object as JSON on stdin and prints its status and message, one a line.
package main

import (
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

func main() {
	text, err := io.ReadAll(os.Stdin)
	var object map[string]interface{}
	if err == nil {
		err = json.Unmarshal(text, &object) // integers stay integers
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "stdin is not a JSON object:", err)
		os.Exit(2)
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: object})
	if err != nil {
		fmt.Fprintln(os.Stderr, "no status:", err)
		os.Exit(1)
	}
	fmt.Println(result.Status)
	fmt.Println(result.Message)
}
