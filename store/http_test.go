package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/store"
)

const secret = "sk-test-0123456789"

type embeddingRequest struct {
	Input          []string `json:"input"`
	Model          string   `json:"model"`
	EncodingFormat string   `json:"encoding_format"`
	Dimensions     *int     `json:"dimensions"`
}

// service is an embeddings API whose vector of a text is its length. Its first answers may be others.
type service struct {
	mu       sync.Mutex
	requests []embeddingRequest
	headers  []http.Header
	paths    []string
	// first are the answers to the first requests, instead of vectors.
	first []http.HandlerFunc
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request embeddingRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.requests, s.headers, s.paths = append(s.requests, request), append(s.headers, r.Header), append(s.paths, r.URL.Path)
	var answer http.HandlerFunc
	if n := len(s.requests); n <= len(s.first) {
		answer = s.first[n-1]
	}
	s.mu.Unlock()
	if answer != nil {
		answer(w, r)
		return
	}
	data := []any{}
	for i, text := range request.Input {
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": []float64{float64(len(text)), 0.5}})
	}
	write(w, map[string]any{"object": "list", "data": data})
}

func write(w io.Writer, value any) { _ = json.NewEncoder(w).Encode(value) }

func (s *service) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// embedderOn is an embedder on a real server; its waits are as short as can be.
func embedderOn(t *testing.T, handler http.Handler, change func(*store.HTTPEmbedderConfig)) *store.HTTPEmbedder {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	config := store.HTTPEmbedderConfig{
		APIKey: secret, Backoff: time.Nanosecond, BaseURL: server.URL + "/v1", Client: server.Client(), Model: "small",
	}
	if change != nil {
		change(&config)
	}
	embedder, err := store.NewHTTPEmbedder(config)
	require.NoError(t, err)
	return embedder
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func answer(body string) http.HandlerFunc { return status(http.StatusOK, body) }

func TestHTTPEmbedderSpeaksTheEmbeddingsAPI(t *testing.T) {
	t.Parallel()
	s := &service{}
	embedder := embedderOn(t, s, func(c *store.HTTPEmbedderConfig) {
		c.BaseURL += "/"
		c.Dimensions = 2
		c.Header = http.Header{"x-team": {"memory"}}
	})
	vectors, err := embedder.EmbedDocuments(t.Context(), []string{"a", "bcd"})
	require.NoError(t, err)
	require.Equal(t, [][]float32{{1, 0.5}, {3, 0.5}}, vectors)
	vector, err := embedder.EmbedQuery(t.Context(), "five!")
	require.NoError(t, err)
	require.Equal(t, []float32{5, 0.5}, vector)
	require.Equal(t, []embeddingRequest{
		{Input: []string{"a", "bcd"}, Model: "small", EncodingFormat: "float", Dimensions: new(2)},
		{Input: []string{"five!"}, Model: "small", EncodingFormat: "float", Dimensions: new(2)},
	}, s.requests)
	require.Equal(t, "/v1/embeddings", s.paths[0])
	require.Equal(t, "Bearer "+secret, s.headers[0].Get("Authorization"))
	require.Equal(t, "application/json", s.headers[0].Get("Content-Type"))
	require.Equal(t, "memory", s.headers[0].Get("X-Team"))
}

func TestHTTPEmbedderLeavesOutWhatIsNotConfigured(t *testing.T) {
	t.Parallel()
	s := &service{}
	embedder := embedderOn(t, s, func(c *store.HTTPEmbedderConfig) { c.APIKey = "" })
	_, err := embedder.EmbedQuery(t.Context(), "a")
	require.NoError(t, err)
	require.Nil(t, s.requests[0].Dimensions)
	require.NotContains(t, s.headers[0], "Authorization")
}

func TestHTTPEmbedderSendsBatches(t *testing.T) {
	t.Parallel()
	s := &service{}
	embedder := embedderOn(t, s, func(c *store.HTTPEmbedderConfig) { c.BatchSize = 3 })
	var texts []string
	for i := range 8 {
		texts = append(texts, strings.Repeat("x", i+1))
	}
	vectors, err := embedder.EmbedDocuments(t.Context(), texts)
	require.NoError(t, err)
	require.Len(t, vectors, 8)
	for i, vector := range vectors {
		require.Equal(t, []float32{float32(i + 1), 0.5}, vector)
	}
	require.Len(t, s.requests, 3)
	require.Equal(t, texts[:3], s.requests[0].Input)
	require.Equal(t, texts[3:6], s.requests[1].Input)
	require.Equal(t, texts[6:], s.requests[2].Input)

	none, err := embedder.EmbedDocuments(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, none)
	require.Equal(t, 3, s.count(), "no texts need no request")
}

func TestHTTPEmbedderPutsVectorsInTheOrderOfTheTexts(t *testing.T) {
	t.Parallel()
	s := &service{first: []http.HandlerFunc{
		answer(`{"data": [{"index": 2, "embedding": [3]}, {"index": 0, "embedding": [1]}, {"index": 1, "embedding": [2]}]}`),
		answer(`{"data": [{"embedding": [1]}, {"embedding": [2]}, {"embedding": [3]}]}`),
	}}
	embedder := embedderOn(t, s, nil)
	for range 2 {
		vectors, err := embedder.EmbedDocuments(t.Context(), []string{"a", "b", "c"})
		require.NoError(t, err)
		require.Equal(t, [][]float32{{1}, {2}, {3}}, vectors)
	}
}

func TestHTTPEmbedderRefusesAnswersThatDoNotFit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, says string }{
		"too few vectors":      {`{"data": [{"index": 0, "embedding": [1]}]}`, "returned 1 vectors for 2 texts"},
		"too many vectors":     {`{"data": [{"embedding": [1]}, {"embedding": [1]}, {"embedding": [1]}]}`, "returned 3 vectors for 2 texts"},
		"no data":              {`{}`, "returned 0 vectors for 2 texts"},
		"an index twice":       {`{"data": [{"index": 1, "embedding": [1]}, {"index": 1, "embedding": [2]}]}`, "index 1 twice"},
		"an index beyond":      {`{"data": [{"index": 0, "embedding": [1]}, {"index": 2, "embedding": [2]}]}`, "index 2 twice or beyond"},
		"a negative index":     {`{"data": [{"index": -1, "embedding": [1]}, {"index": 0, "embedding": [2]}]}`, "index -1 twice or beyond"},
		"an empty vector":      {`{"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": []}]}`, "no vector for text 2 of 2"},
		"a vector of texts":    {`{"data": [{"embedding": ["1"]}, {"embedding": [1]}]}`, "is not that of an embeddings API"},
		"a web page":           {`<html>`, "is not that of an embeddings API"},
		"half an answer":       {`{"data": [`, "is not that of an embeddings API"},
		"a number beyond":      {`{"data": [{"embedding": [1e999]}, {"embedding": [1]}]}`, "is not that of an embeddings API"},
		"nothing":              {``, "is not that of an embeddings API"},
		"an error that is 200": {`{"error": {"message": "no"}}`, "returned 0 vectors for 2 texts"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &service{first: []http.HandlerFunc{answer(c.body)}}
			_, err := embedderOn(t, s, nil).EmbedDocuments(t.Context(), []string{"a", "b"})
			require.ErrorContains(t, err, c.says)
			require.Equal(t, 1, s.count(), "the same request would be answered the same way")
		})
	}
}

func TestHTTPEmbedderRepeatsWhatMaySucceedLater(t *testing.T) {
	t.Parallel()
	hangUp := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	halfAnAnswer := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"data": [`)
	}
	for name, first := range map[string]http.HandlerFunc{
		"429": status(429, `{"error": {"message": "slow down", "code": "rate_limit_exceeded"}}`), "500": status(500, "oops"),
		"502": status(502, ""), "503": status(503, ""), "504": status(504, ""), "529": status(529, ""), "408": status(408, ""),
		"409": status(409, ""), "a connection that breaks": hangUp, "an answer that breaks off": halfAnAnswer,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &service{first: []http.HandlerFunc{first, first, first}}
			vectors, err := embedderOn(t, s, nil).EmbedDocuments(t.Context(), []string{"abc"})
			require.NoError(t, err)
			require.Equal(t, [][]float32{{3, 0.5}}, vectors)
			require.Equal(t, 4, s.count())
			require.Equal(t, s.requests[0], s.requests[3], "the request is sent whole each time")
		})
	}
}

func TestHTTPEmbedderDoesNotRepeatWhatCannotSucceed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first http.HandlerFunc
		says  string
	}{
		"400":        {status(400, `{"error": {"message": "too long"}}`), "400 Bad Request: too long"},
		"401":        {status(401, `{"error": {"message": "bad key"}}`), "401 Unauthorized: bad key"},
		"404":        {status(404, "no such model"), "404 Not Found: no such model"},
		"no money":   {status(429, `{"error": {"message": "pay", "code": "insufficient_quota"}}`), "429 Too Many Requests: pay"},
		"a redirect": {status(304, ""), "304 Not Modified"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &service{first: []http.HandlerFunc{c.first}}
			_, err := embedderOn(t, s, nil).EmbedDocuments(t.Context(), []string{"abc"})
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, "embed with 127.0.0.1:")
			require.NotContains(t, err.Error(), "attempts")
			require.Equal(t, 1, s.count())
		})
	}
}

func TestHTTPEmbedderGivesUp(t *testing.T) {
	t.Parallel()
	for retries, requests := range map[int]int{0: 5, 1: 2, 2: 3, -1: 1} {
		var n atomic.Int64
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			n.Add(1)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		embedder := embedderOn(t, handler, func(c *store.HTTPEmbedderConfig) { c.MaxRetries = retries })
		_, err := embedder.EmbedQuery(t.Context(), "a")
		require.ErrorContains(t, err, "503 Service Unavailable")
		if requests > 1 {
			require.ErrorContains(t, err, fmt.Sprintf("(after %d attempts)", requests))
		}
		require.EqualValues(t, requests, n.Load())
	}
}

func TestHTTPEmbedderNeverShowsSecrets(t *testing.T) {
	t.Parallel()
	echo := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		write(w, map[string]any{"error": map[string]any{
			"message": "not valid: " + r.Header.Get("Authorization") + " " + r.Header.Get("Api-Key"),
		}})
	}
	config := func(c *store.HTTPEmbedderConfig) { c.Header = http.Header{"api-key": {"another-secret"}} }
	embedder := embedderOn(t, http.HandlerFunc(echo), config)
	_, err := embedder.EmbedQuery(t.Context(), "a")
	require.ErrorContains(t, err, "not valid: Bearer [redacted] [redacted]")
	for _, shown := range []string{
		err.Error(), fmt.Sprint(embedder), fmt.Sprintf("%+v %#v %q", embedder, embedder, embedder), embedder.Identity(),
		fmt.Sprintf("%+v", store.IndexConfig{Embed: embedder}),
	} {
		require.NotContains(t, shown, secret)
		require.NotContains(t, shown, "another-secret")
	}
}

func TestHTTPEmbedderDoesNotShowAddressesWithPasswords(t *testing.T) {
	t.Parallel()
	failure := errors.New("cannot connect with " + secret)
	embedder, err := store.NewHTTPEmbedder(store.HTTPEmbedderConfig{
		APIKey: secret, BaseURL: "https://user:hunter2@models.example/v1?token=abc", Model: "small", MaxRetries: -1,
		Client: &http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) { return nil, failure })},
	})
	require.NoError(t, err)
	require.Equal(t, "models.example/small/0", embedder.Identity())
	_, err = embedder.EmbedQuery(t.Context(), "a")
	require.EqualError(t, err, "embed with models.example/small/0: cannot connect with [redacted]")
}

func TestHTTPEmbedderShortensWhatTheServerSays(t *testing.T) {
	t.Parallel()
	s := &service{first: []http.HandlerFunc{status(400, strings.Repeat("線\xff", 100000))}}
	_, err := embedderOn(t, s, nil).EmbedQuery(t.Context(), "a")
	require.ErrorContains(t, err, "線?線?")
	require.Less(t, len(err.Error()), 1000)
}

func TestHTTPEmbedderChecksItsConfiguration(t *testing.T) {
	t.Parallel()
	for says, config := range map[string]store.HTTPEmbedderConfig{
		"has no model":                           {},
		"the base URL of the embedder is none":   {Model: "m", BaseURL: "models.example"},
		"is none: give one such as https://":     {Model: "m", BaseURL: "ftp://user:hunter2@models.example"},
		"cannot be negative":                     {Model: "m", BatchSize: -1},
		"Timeout of the embedder cannot":         {Model: "m", Timeout: -1},
		"contains characters that no header can": {Model: "m", APIKey: "key\n"},
	} {
		_, err := store.NewHTTPEmbedder(config)
		require.ErrorIs(t, err, store.ErrInvalidArgument)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "hunter2")
	}
	embedder, err := store.NewHTTPEmbedder(store.HTTPEmbedderConfig{Model: "text-embedding-3-small", Dimensions: 256})
	require.NoError(t, err)
	require.Equal(t, "api.openai.com/text-embedding-3-small/256", embedder.Identity())
}

// roundTripper answers without a network, so that the tests below run on synctest's clock.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// through sends requests to a handler.
func through(handler http.Handler) *http.Client {
	return &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, r)
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
		return recorder.Result(), nil
	})}
}

// timed is when each request arrived, since the first.
func timed(t *testing.T, config store.HTTPEmbedderConfig, handler http.HandlerFunc) (arrivals []time.Duration, err error) {
	t.Helper()
	begin := time.Now()
	config.Client = through(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrivals = append(arrivals, time.Since(begin))
		handler(w, r)
	}))
	config.Model, config.APIKey = "small", secret
	embedder, err := store.NewHTTPEmbedder(config)
	require.NoError(t, err)
	_, err = embedder.EmbedQuery(t.Context(), "a")
	return arrivals, err
}

func TestHTTPEmbedderWaitsLongerFromTimeToTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		arrivals, err := timed(t, store.HTTPEmbedderConfig{Backoff: time.Second, MaxRetries: 6, MaxWait: 10 * time.Second}, status(500, ""))
		require.ErrorContains(t, err, "(after 7 attempts)")
		require.Len(t, arrivals, 7)
		for i, backoff := range []time.Duration{1, 2, 4, 8, 10, 10} {
			wait := arrivals[i+1] - arrivals[i]
			require.GreaterOrEqual(t, wait, backoff*time.Second/2)
			require.LessOrEqual(t, wait, backoff*time.Second+1)
		}
	})
}

func TestHTTPEmbedderWaitsAsLongAsTheServerAsks(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]func() string{
		"seconds":   func() string { return "17" },
		"fractions": func() string { return "16.999" },
		"a date":    func() string { return time.Now().Add(17 * time.Second).UTC().Format(http.TimeFormat) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				arrivals, err := timed(t, store.HTTPEmbedderConfig{Backoff: time.Millisecond, MaxRetries: 1},
					func(w http.ResponseWriter, _ *http.Request) {
						w.Header().Set("Retry-After", header())
						w.WriteHeader(http.StatusTooManyRequests)
					})
				require.ErrorContains(t, err, "429")
				require.Len(t, arrivals, 2)
				require.InDelta(t, 17, (arrivals[1] - arrivals[0]).Seconds(), 0.01)
			})
		})
	}
}

func TestHTTPEmbedderDoesNotWaitForever(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header string
		says   string
		n      int
	}{
		"longer than MaxWait": {"3600", "it asks to wait 1h0m0s, longer than MaxWait", 1},
		"absurdly long":       {"1e300", "it asks to wait 24h0m0s", 1},
		"nonsense":            {"soon", "(after 2 attempts)", 2},
		"not a number":        {"NaN", "(after 2 attempts)", 2},
		"negative":            {"-5", "(after 2 attempts)", 2},
		"a date in the past":  {"Mon, 02 Jan 1995 15:04:05 GMT", "(after 2 attempts)", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				arrivals, err := timed(t, store.HTTPEmbedderConfig{Backoff: time.Second, MaxRetries: 1},
					func(w http.ResponseWriter, _ *http.Request) {
						w.Header().Set("Retry-After", c.header)
						w.WriteHeader(http.StatusServiceUnavailable)
					})
				require.ErrorContains(t, err, c.says)
				require.Len(t, arrivals, c.n)
				require.LessOrEqual(t, arrivals[len(arrivals)-1], 2*time.Second)
			})
		})
	}
}

func TestHTTPEmbedderTimesEachAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		arrivals, err := timed(t, store.HTTPEmbedderConfig{Backoff: time.Second, MaxRetries: 2, Timeout: time.Minute}, hang)
		require.ErrorContains(t, err, "no answer within 1m0s")
		require.ErrorContains(t, err, "(after 3 attempts)")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Len(t, arrivals, 3)
		require.GreaterOrEqual(t, arrivals[2], 2*time.Minute)
	})
}

func TestHTTPEmbedderSucceedsAfterATimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{first: []http.HandlerFunc{func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }}}
		embedder, err := store.NewHTTPEmbedder(store.HTTPEmbedderConfig{Model: "small", Client: through(s)})
		require.NoError(t, err)
		vector, err := embedder.EmbedQuery(t.Context(), "abc")
		require.NoError(t, err)
		require.Equal(t, []float32{3, 0.5}, vector)
		require.Equal(t, 2, s.count())
	})
}

func TestHTTPEmbedderStopsWhenTheContextIsDone(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"while it waits for an answer": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"while it waits to try again":  status(503, ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				embedder, err := store.NewHTTPEmbedder(store.HTTPEmbedderConfig{
					Model: "small", Client: through(handler), Backoff: time.Minute, Timeout: time.Hour,
				})
				require.NoError(t, err)
				begin := time.Now()
				_, err = embedder.EmbedQuery(ctx, "a")
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, 5*time.Second, time.Since(begin))
			})
		})
	}
}

func TestHTTPEmbedderDoesNothingWithAContextThatIsDone(t *testing.T) {
	t.Parallel()
	s := &service{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := embedderOn(t, s, nil).EmbedDocuments(ctx, []string{"a"})
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, s.count())
}

func TestHTTPEmbedderMayBeShared(t *testing.T) {
	t.Parallel()
	s := &service{}
	embedder := embedderOn(t, s, nil)
	var group sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		group.Go(func() {
			vector, err := embedder.EmbedQuery(t.Context(), strings.Repeat("x", i+1))
			if err == nil && vector[0] != float32(i+1) {
				err = fmt.Errorf("text of length %d has vector %v", i+1, vector)
			}
			errs[i] = err
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
}
