// Package serde turns the values of channels, writes and stores into what the
// database holds, a type and bytes, and back.
//
// Default writes MessagePack byte for byte as LangGraph's own serializer
// (JsonPlusSerializer) writes the same value, so Go and Python share threads.
// What Python wrote comes back as the same bytes when written again, whatever
// it was: a Python object without a Go type becomes an [Object], an extension
// that is not LangGraph's an [Ext]. Nothing named in the data is ever imported
// or run.
//
//	typed, err := serde.Default().Dump(value) // Typed{"msgpack", ...}
//	value, err := serde.Default().Load(typed)
//
// # How types map
//
//	Python                        Load returns            Dump also takes
//	None                          nil                     nil pointers
//	bool                          bool                    types made of it
//	int                           int64, or uint64        all integers; *big.Int and json.Number up to 64 bits
//	                              above 1<<63-1
//	float                         float64                 float32 (kept as 32 bits), json.Number
//	str                           string                  types made of it, error (its text)
//	bytes                         []byte                  types and arrays of bytes
//	bytearray                     ByteArray               (inside of a value it is bytes, as in Python)
//	list, tuple                   []any                   slices and arrays; nil is empty
//	dict                          *ordered.Map            Go maps, keys sorted; structs; nil maps are empty
//	datetime, aware               time.Time               cut to microseconds
//	datetime, naive               NaiveTime
//	date                          Date
//	timedelta                     time.Duration           cut to microseconds
//	uuid.UUID                     uuid.UUID
//	decimal.Decimal               Decimal
//	set, frozenset, deque         Set, FrozenSet, Deque
//	numpy.ndarray                 NDArray
//	LangChain messages            messages.Message
//	Send, Interrupt, Overwrite    Send, Interrupt, Overwrite
//	TimeoutPolicy                 TimeoutPolicy
//	delta channel's snapshot      DeltaSnapshot
//	dataclass, named tuple,       *Object                 Object; Go types given to Register
//	pydantic model, enum, path,
//	pattern, time, time zone,
//	IP address, Document, Item
//
// What a Go type cannot hold exactly stays an Object: a timedelta beyond 292
// years, an offset from UTC with microseconds, an object in the form of a
// version that had other fields.
//
// Dicts keep their order and may have keys that are not strings; package
// [ordered] has the type. [Plain] converts a value to Go's plain maps and slices,
// for printing it as JSON. Structs are written as dicts of their exported
// fields in their order, under the name in the tag `msgpack:"name,omitempty"`;
// "-" leaves a field out. They come back as dicts.
//
// Strings that are not UTF-8 are refused. (Python writes "?" for the surrogates
// its strings may have.) Integers beyond 64 bits are refused as in Python.
//
// # Older data
//
// Load also reads the type json of older checkpoints and of JavaScript, whose
// constructor envelopes become messages, the types above, or Objects. Pickled
// values are refused with ErrPickled; carry them through with [Raw].
//
// # Encryption
//
// [Encrypted] with [NewAES] or [AESFromEnv] reads and writes what LangGraph's
// EncryptedSerializer does. It hides values, not which channels and types there
// are.
//
// # Hostile input
//
// Load takes bytes from anyone. It returns ErrCorrupt or a value, uses memory in
// proportion to the size of the input, and stops at 1022 arrays and maps within
// each other (what Python reads) or 4096 levels in all. It is fuzzed.
//
// # Why there is a MessagePack reader and writer here
//
// The library at hand, vmihailenco/msgpack, reads maps into Go maps, which lose
// order and keys that are not strings, has no bound on depth, and copies every
// string by itself. Byte-exactness and the bounds above need those decisions in
// one place: wire.go, encode.go and decode.go. What is left of a library after
// that is the table of codes.
package serde
