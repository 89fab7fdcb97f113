// A client with Go's net/http. Arguments: URL, Authorization, number of workers. Calls until its input ends.
package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

func main() {
	url, login := os.Args[1], os.Args[2]
	workers, _ := strconv.Atoi(os.Args[3])
	client := &http.Client{Timeout: 60 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	var done int32
	var output sync.Mutex
	var group sync.WaitGroup
	say := func(line string) { output.Lock(); fmt.Println(line); output.Unlock() }
	for worker := 0; worker < workers; worker++ {
		group.Add(1)
		go func(worker int) {
			defer group.Done()
			for count := 0; atomic.LoadInt32(&done) == 0; count++ {
				message := fmt.Sprintf("id go-%d-%d", worker, count)
				request, _ := http.NewRequest("POST", url, bytes.NewReader([]byte(`"`+message+`"`)))
				request.Header.Set("Authorization", login)
				request.Header.Set("Content-Type", "application/json")
				say("sent")
				response, err := client.Do(request)
				if err != nil {
					say("failed " + err.Error())
				} else {
					_, err = io.ReadAll(response.Body)
					response.Body.Close()
					if err != nil || response.StatusCode != 200 || response.ProtoMajor != 2 {
						say(fmt.Sprintf("failed %d %s", response.StatusCode, response.Proto))
					} else {
						say("ok " + message)
					}
				}
				time.Sleep(time.Duration(rand.Intn(100)) * time.Millisecond)
			}
		}(worker)
	}
	io.ReadAll(os.Stdin)
	atomic.StoreInt32(&done, 1)
	group.Wait()
}
