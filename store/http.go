package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// HTTPEmbedderConfig is what can be chosen about an [HTTPEmbedder]. Only Model is needed.
type HTTPEmbedderConfig struct {
	// APIKey is sent as a bearer token. Empty sends none. It never appears in an error.
	APIKey string

	// Backoff is how long to wait before the first retry; it doubles from one to the next, each a random time between half
	// of it and all of it. 0 means 500 ms.
	Backoff time.Duration

	// BaseURL is the address of the API without /embeddings, such as that of a server of local models. Empty means
	// DefaultBaseURL.
	BaseURL string

	// BatchSize is how many texts one request has at most; more make several requests, one after the other. 0 means 256.
	BatchSize int

	// Client sends the requests. Nil means http.DefaultClient. A Timeout of its own counts for each attempt.
	Client *http.Client

	// Dimensions asks models that can for shorter vectors. 0 leaves it to the model.
	Dimensions int

	// Header is added to each request. Its values never appear in an error.
	Header http.Header

	// MaxRetries is how often a request is repeated that may succeed later: one that timed out or found no server, or was
	// answered with 408, 409, 429 or 5xx. 0 means 4, negative none.
	MaxRetries int

	// MaxWait is the longest wait before a retry. A server that asks for a longer one, by Retry-After, ends the attempts.
	// 0 means a minute.
	MaxWait time.Duration

	// Model is the model's name, such as text-embedding-3-small.
	Model string

	// Timeout is that of one attempt, from sending it to having read the answer. 0 means 30 s.
	Timeout time.Duration
}

// DefaultBaseURL is where an [HTTPEmbedder] sends its requests unless it is told otherwise.
const DefaultBaseURL = "https://api.openai.com/v1"

// maxResponse is how much of an answer is read: far more than the largest batch of the largest model needs.
const maxResponse = 256 << 20

// HTTPEmbedder is an [Embedder] on the embeddings API of OpenAI, which most servers of models speak too. It sends texts in
// batches and repeats what failed for reasons that pass. It is safe for concurrent use.
type HTTPEmbedder struct {
	config HTTPEmbedderConfig
	url    string
	host   string
}

var _ Identified = (*HTTPEmbedder)(nil)

// NewHTTPEmbedder makes an embedder; it sends nothing yet. ErrInvalidArgument when the configuration cannot be used.
func NewHTTPEmbedder(config HTTPEmbedderConfig) (*HTTPEmbedder, error) {
	config.BaseURL = orDefault(config.BaseURL, DefaultBaseURL)
	address, err := url.Parse(config.BaseURL)
	switch {
	case err != nil || (address.Scheme != "http" && address.Scheme != "https") || address.Host == "":
		// The address may hold a password, so it is not repeated.
		return nil, invalid("the base URL of the embedder is none: give one such as %s", DefaultBaseURL)
	case config.Model == "":
		return nil, invalid("the embedder has no model: set Model, such as text-embedding-3-small")
	case config.BatchSize < 0 || config.Dimensions < 0 || config.Backoff < 0 || config.MaxWait < 0 || config.Timeout < 0:
		return nil, invalid("BatchSize, Dimensions, Backoff, MaxWait and Timeout of the embedder cannot be negative")
	case strings.ContainsFunc(config.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, invalid("the API key of the embedder contains characters that no header can carry, perhaps a line end")
	}
	if config.Client == nil {
		config.Client = http.DefaultClient
	}
	config.Header = config.Header.Clone()
	config.Backoff = orDefault(config.Backoff, 500*time.Millisecond)
	config.BatchSize = orDefault(config.BatchSize, 256)
	config.MaxRetries = max(0, orDefault(config.MaxRetries, 4))
	config.MaxWait = orDefault(config.MaxWait, time.Minute)
	config.Timeout = orDefault(config.Timeout, 30*time.Second)
	return &HTTPEmbedder{config: config, url: address.JoinPath("embeddings").String(), host: address.Host}, nil
}

func orDefault[T comparable](value, byDefault T) T {
	var zero T
	if value == zero {
		return byDefault
	}
	return value
}

// Identity names the host, the model and the dimensions asked for.
func (e *HTTPEmbedder) Identity() string {
	return fmt.Sprintf("%s/%s/%d", e.host, e.config.Model, e.config.Dimensions)
}

// String is the identity, so that no log shows the API key.
func (e *HTTPEmbedder) String() string { return e.Identity() }

// GoString is the identity, so that no log shows the API key.
func (e *HTTPEmbedder) GoString() string { return e.Identity() }

// EmbedDocuments returns a vector for each text, all or none.
func (e *HTTPEmbedder) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, 0, len(texts))
	for batch := range slices.Chunk(texts, e.config.BatchSize) {
		embedded, err := e.embed(ctx, batch)
		if err != nil {
			return nil, fmt.Errorf("embed with %s: %w", e.Identity(), err)
		}
		vectors = append(vectors, embedded...)
	}
	return vectors, nil
}

// EmbedQuery returns the vector of a query.
func (e *HTTPEmbedder) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	vectors, err := e.EmbedDocuments(ctx, []string{text})
	if err != nil {
		return nil, err
	}
	return vectors[0], nil
}

type embeddingsRequest struct {
	Input          []string `json:"input"`
	Model          string   `json:"model"`
	EncodingFormat string   `json:"encoding_format"`
	Dimensions     int      `json:"dimensions,omitempty"`
}

// embed embeds one batch, with retries.
func (e *HTTPEmbedder) embed(ctx context.Context, texts []string) ([][]float32, error) {
	body, err := json.Marshal(embeddingsRequest{texts, e.config.Model, "float", e.config.Dimensions})
	if err != nil {
		return nil, err
	}
	backoff := e.config.Backoff
	for attempt := 1; ; attempt++ {
		answer, failure := e.attempt(ctx, body)
		if failure == nil {
			return vectorsOf(answer, len(texts))
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if failure.final || attempt > e.config.MaxRetries {
			return nil, failure.after(attempt)
		}
		if failure.retryAfter > e.config.MaxWait {
			return nil, fmt.Errorf("%w; it asks to wait %v, longer than MaxWait", failure.after(attempt), failure.retryAfter)
		}
		backoff = min(backoff, e.config.MaxWait)
		wait := backoff/2 + rand.N(backoff/2+1) //nolint:gosec // spreads load, guards nothing
		if err := pause(ctx, max(wait, failure.retryAfter)); err != nil {
			return nil, err
		}
		backoff *= 2
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// failure is why an attempt failed.
type failure struct {
	err error
	// final says that another attempt would fail the same way.
	final bool
	// retryAfter is how long the server asks to wait.
	retryAfter time.Duration
}

func (f *failure) after(attempts int) error {
	if attempts == 1 {
		return f.err
	}
	return fmt.Errorf("%w (after %d attempts)", f.err, attempts)
}

// attempt sends one request and reads its answer.
func (e *HTTPEmbedder) attempt(ctx context.Context, body []byte) ([]byte, *failure) {
	ctx, cancel := context.WithTimeoutCause(ctx, e.config.Timeout,
		fmt.Errorf("no answer within %v: %w", e.config.Timeout, context.DeadlineExceeded))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return nil, &failure{err: e.redacted(err), final: true}
	}
	e.addHeader(request)
	response, err := e.config.Client.Do(request)
	if err != nil {
		return nil, &failure{err: e.redacted(reason(ctx, err))}
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	if err != nil {
		return nil, &failure{err: e.redacted(reason(ctx, err))}
	}
	if response.StatusCode != http.StatusOK {
		return nil, e.refusal(response, answer)
	}
	return answer, nil
}

func (e *HTTPEmbedder) addHeader(request *http.Request) {
	for name, values := range e.config.Header {
		for _, value := range values {
			request.Header.Add(name, value)
		}
	}
	request.Header.Set("Content-Type", "application/json")
	if e.config.APIKey != "" {
		request.Header.Set("Authorization", "Bearer "+e.config.APIKey)
	}
}

// reason prefers the timeout's own words to "context deadline exceeded".
func reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// redacted is an error that shows neither a secret nor the address, which may hold one.
func (e *HTTPEmbedder) redacted(err error) error {
	var urlError *url.Error
	if errors.As(err, &urlError) {
		err = urlError.Err
	}
	if text := err.Error(); e.withoutSecrets(text) != text {
		return errors.New(e.withoutSecrets(text))
	}
	return err
}

// withoutSecrets is for texts of others, who may repeat what they were sent.
func (e *HTTPEmbedder) withoutSecrets(text string) string {
	secrets := []string{e.config.APIKey}
	for _, values := range e.config.Header {
		secrets = append(secrets, values...)
	}
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	return text
}

// refusal is an answer that is not 200.
func (e *HTTPEmbedder) refusal(response *http.Response, answer []byte) *failure {
	var said struct {
		Error struct {
			Message string `json:"message"`
			Code    any    `json:"code"`
		} `json:"error"`
	}
	message := string(answer)
	if json.Unmarshal(answer, &said) == nil && said.Error.Message != "" {
		message = said.Error.Message
	}
	status := response.StatusCode
	return &failure{
		err: fmt.Errorf("the server answered %d %s: %s", status, http.StatusText(status),
			shortened(e.withoutSecrets(message))),
		// OpenAI answers 429 as well when nothing is left of what was paid for.
		final:      !passes(status) || said.Error.Code == "insufficient_quota",
		retryAfter: retryAfter(response.Header.Get("Retry-After")),
	}
}

func shortened(text string) string {
	const most = 300
	text = strings.ToValidUTF8(strings.TrimSpace(text), "?")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// passes says whether the same request may succeed later.
func passes(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	default:
		return status >= 500
	}
}

// retryAfter reads the header of that name: seconds, or a date. 0 when it says neither.
func retryAfter(header string) time.Duration {
	if seconds, err := strconv.ParseFloat(header, 64); err == nil {
		if !(seconds > 0) { // NaN too
			return 0
		}
		const day = 24 * 60 * 60
		return time.Duration(min(seconds, day) * float64(time.Second))
	}
	if date, err := http.ParseTime(header); err == nil {
		return max(0, time.Until(date))
	}
	return 0
}

// vectorsOf puts the vectors of an answer into the order of the texts.
func vectorsOf(answer []byte, texts int) ([][]float32, error) {
	var decoded struct {
		Data []struct {
			Index     *int      `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(answer, &decoded); err != nil {
		return nil, fmt.Errorf("the server's answer is not that of an embeddings API: %w", err)
	}
	if len(decoded.Data) != texts {
		return nil, fmt.Errorf("the server returned %d vectors for %d texts", len(decoded.Data), texts)
	}
	vectors := make([][]float32, texts)
	for position, entry := range decoded.Data {
		index := position
		if entry.Index != nil {
			index = *entry.Index
		}
		if index < 0 || index >= texts || vectors[index] != nil {
			return nil, fmt.Errorf("the server returned index %d twice or beyond the %d texts", index, texts)
		}
		if len(entry.Embedding) == 0 {
			return nil, fmt.Errorf("the server returned no vector for text %d of %d", index+1, texts)
		}
		vectors[index] = entry.Embedding
	}
	return vectors, nil
}
