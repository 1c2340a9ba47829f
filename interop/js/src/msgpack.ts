/**
 * LangGraph's Python serializer, as far as JavaScript has values for it: what Go and Python read is written, and what they
 * wrote is read. A value of a Python type that JavaScript lacks becomes a {@link PythonObject}, which is written back byte by
 * byte as it was read.
 *
 * What does not survive: a float without a fraction becomes an integer, because JavaScript has one kind of number.
 */
import { Decoder, Encoder, ExtData, ExtensionCodec } from "@msgpack/msgpack";
import {
  AIMessage,
  AIMessageChunk,
  BaseMessage,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  HumanMessageChunk,
  RemoveMessage,
  SystemMessage,
  SystemMessageChunk,
  ToolMessage,
  ToolMessageChunk,
} from "@langchain/core/messages";
import { DeltaSnapshot, isDeltaSnapshot, type SerializerProtocol } from "@langchain/langgraph-checkpoint";

/** Extension codes of langgraph.checkpoint.serde.jsonplus; the payload of each is MessagePack. */
const CONSTRUCTOR_ARG = 0;
const CONSTRUCTOR_ARGS = 1;
const CONSTRUCTOR_KWARGS = 2;
const PYDANTIC_V2 = 5;
const DELTA_SNAPSHOT = 7;
const LAST_CODE = DELTA_SNAPSHOT;

/** A value of a Python type that JavaScript has no equal of. */
export class PythonObject {
  /** What LangGraph wrote: module, name and arguments of the constructor, or less where the code means something else. */
  readonly parts: readonly unknown[];

  constructor(
    readonly code: number,
    readonly data: Uint8Array,
  ) {
    const decoded = decode(data);
    this.parts = Array.isArray(decoded) ? decoded : [decoded];
  }

  /** For people who print it. */
  toJSON(): unknown {
    const [module, name, args] = this.parts;
    return { lc_type: `${module}.${name}`, args };
  }
}

/** A packet for a node, as LangGraph's own Send; the runtime looks at the fields only. */
export class SendPacket {
  readonly lg_name = "Send";

  constructor(
    readonly node: string,
    readonly args: unknown,
    readonly timeout?: unknown,
  ) {}
}

/** Thrown for values that MessagePack has no form for which Python reads, too. */
class NoCommonFormError extends Error {}

type Kwargs = Record<string, unknown>;
type MessageClass = [module: string, name: string, make: (fields: any) => BaseMessage];

const MESSAGES: MessageClass[] = [
  ["human", "HumanMessage", (f) => new HumanMessage(f)],
  ["human", "HumanMessageChunk", (f) => new HumanMessageChunk(f)],
  ["ai", "AIMessage", (f) => new AIMessage(f)],
  ["ai", "AIMessageChunk", (f) => new AIMessageChunk(f)],
  ["system", "SystemMessage", (f) => new SystemMessage(f)],
  ["system", "SystemMessageChunk", (f) => new SystemMessageChunk(f)],
  ["tool", "ToolMessage", (f) => new ToolMessage(f)],
  ["tool", "ToolMessageChunk", (f) => new ToolMessageChunk(f)],
  ["function", "FunctionMessage", (f) => new FunctionMessage(f)],
  ["chat", "ChatMessage", (f) => new ChatMessage(f)],
  ["modifier", "RemoveMessage", (f) => new RemoveMessage(f)],
];
const messageModule = (module: string): string => `langchain_core.messages.${module}`;
const messageClass = (module: string, name: string): MessageClass | undefined =>
  MESSAGES.find(([m, n]) => n === name && messageModule(m) === module);

/** Fields of a message that its class in JavaScript does not keep, so that they are there when it is written again. */
const unmodelled = new WeakMap<BaseMessage, Kwargs>();

/** Fields beyond those of every message, by the type of the message. */
function ownFields(message: BaseMessage): Kwargs {
  const m = message as any;
  switch (message.getType()) {
    case "ai":
      return {
        tool_calls: m.tool_calls ?? [],
        invalid_tool_calls: m.invalid_tool_calls ?? [],
        usage_metadata: m.usage_metadata ?? null,
      };
    case "tool":
      return { tool_call_id: m.tool_call_id, artifact: m.artifact ?? null, status: m.status ?? "success" };
    case "generic":
      return { role: m.role };
    default:
      return {};
  }
}

function messageKwargs(message: BaseMessage): Kwargs {
  const type = message.getType();
  const name = className(message);
  return {
    content: type === "remove" ? "" : message.content,
    additional_kwargs: message.additional_kwargs ?? {},
    response_metadata: message.response_metadata ?? {},
    type: name.endsWith("Chunk") ? name : type === "generic" ? "chat" : type,
    name: message.name ?? null,
    id: message.id ?? null,
    ...ownFields(message),
    ...unmodelled.get(message),
  };
}

/** The class's name as LangChain serializes it, which a minifier leaves alone; RemoveMessage has none of its own. */
const className = (message: BaseMessage): string =>
  message.getType() === "remove" ? "RemoveMessage" : (message.constructor as typeof BaseMessage).lc_name();

function messageToWire(message: BaseMessage): ExtData {
  const name = className(message);
  const known = MESSAGES.find(([, n]) => n === name);
  if (known === undefined) {
    throw new NoCommonFormError(`Python has no message class ${name}`);
  }
  return constructed(PYDANTIC_V2, [messageModule(known[0]), name, messageKwargs(message), "model_validate_json"]);
}

function messageFromWire([, , make]: MessageClass, kwargs: Kwargs): BaseMessage {
  // Python's None is an absent field here, and the type is the class.
  const given = Object.fromEntries(Object.entries(kwargs).filter(([field, value]) => value !== null && field !== "type"));
  const message = make(given);
  const modelled = messageKwargs(message);
  unmodelled.set(message, Object.fromEntries(Object.entries(kwargs).filter(([field]) => !(field in modelled))));
  return message;
}

const constructed = (code: number, parts: unknown[]): ExtData => new ExtData(code, encode(parts));

const isInterrupt = (value: any): boolean => typeof value === "object" && value !== null && "value" in value;

/** What an interrupt writes, as Python's own type, whose fields Python reads by name. */
export function interruptToWire(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(interruptToWire);
  }
  if (!isInterrupt(value)) {
    return value;
  }
  const { value: asked, id } = value as Kwargs;
  return constructed(CONSTRUCTOR_KWARGS, ["langgraph.types", "Interrupt", { value: asked ?? null, id: id ?? "" }]);
}

/** The value in terms that the MessagePack library writes as Python does. */
function toWire(value: unknown): unknown {
  switch (typeof value) {
    case "undefined":
      return null;
    case "number":
      // The library writes a number above 32 bits as a float when it knows of bigint.
      return Number.isSafeInteger(value) && Math.abs(value) > 0xffffffff ? BigInt(value) : value;
    case "bigint":
      if (BigInt.asIntN(64, value) !== value && BigInt.asUintN(64, value) !== value) {
        throw new RangeError(`${value} does not fit into 64 bits; save it as text`);
      }
      return value;
    case "function":
    case "symbol":
      throw new TypeError(`a ${typeof value} cannot be saved in a checkpoint; keep it out of the state`);
    case "object":
      return value === null ? null : objectToWire(value);
    default:
      return value;
  }
}

function objectToWire(value: object): unknown {
  if (value instanceof Uint8Array || value instanceof ExtData) {
    return value;
  }
  if (Array.isArray(value)) {
    return value.map(toWire);
  }
  if (value instanceof PythonObject) {
    return new ExtData(value.code, value.data);
  }
  if (BaseMessage.isInstance(value)) {
    return messageToWire(value);
  }
  if (isDeltaSnapshot(value)) {
    return new ExtData(DELTA_SNAPSHOT, encode(value.value));
  }
  if (value instanceof Set) {
    return constructed(CONSTRUCTOR_ARG, ["builtins", "set", [...value]]);
  }
  if ((value as any).lg_name === "Send") {
    const { node, args, timeout } = value as SendPacket;
    return constructed(CONSTRUCTOR_ARGS, ["langgraph.types", "Send", timeout === undefined ? [node, args] : [node, args, timeout]]);
  }
  if (value instanceof Map || value instanceof RegExp || value instanceof Error || (value as any).lc_serializable) {
    throw new NoCommonFormError(`Python has no ${value.constructor.name}`);
  }
  if (typeof (value as any).toJSON === "function") {
    return toWire((value as any).toJSON());
  }
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== undefined)
      .map(([name, field]) => [name, toWire(field)]),
  );
}

/** Gives back as a number what was read as a bigint and is exact as a number. */
function narrow(value: unknown): unknown {
  if (typeof value === "bigint") {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value;
  }
  if (Array.isArray(value)) {
    return value.map(narrow);
  }
  if (value !== null && typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype) {
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, narrow(field)]));
  }
  return value;
}

function fromExtension(code: number, data: Uint8Array): unknown {
  if (code === DELTA_SNAPSHOT) {
    return new DeltaSnapshot(decode(data));
  }
  // The library lends its buffer; what is kept has to be a copy.
  const object = new PythonObject(code, data.slice());
  const [module, name, args] = object.parts as [string, string, any];
  if (code === PYDANTIC_V2) {
    const known = messageClass(module, name);
    return known === undefined ? object : messageFromWire(known, args);
  }
  switch (`${code} ${module}.${name}`) {
    case `${CONSTRUCTOR_ARG} builtins.set`:
      return new Set(args);
    case `${CONSTRUCTOR_ARGS} langgraph.types.Send`:
      return new SendPacket(args[0], args[1], args[2]);
    case `${CONSTRUCTOR_KWARGS} langgraph.types.Interrupt`:
      return { id: args.id, value: args.value };
    default:
      return object;
  }
}

const extensionCodec = new ExtensionCodec();
for (let type = 0; type <= LAST_CODE; type += 1) {
  extensionCodec.register({ type, encode: () => null, decode: (data, code) => fromExtension(code, data) });
}

function textKey(key: unknown): string {
  if (typeof key !== "string") {
    throw new TypeError(`a map has the key ${String(key)}, which is no text; JavaScript's objects would change it`);
  }
  return key;
}

/** Encodes a value; throws NoCommonFormError where only LangGraph's JSON has a form for it. */
function encode(value: unknown): Uint8Array {
  // An encoder of its own, because extensions are encoded while their parents are.
  return new Encoder({ extensionCodec, useBigInt64: true }).encode(toWire(value));
}

function decode(data: Uint8Array): unknown {
  return narrow(new Decoder({ extensionCodec, useBigInt64: true, mapKeyConverter: textKey as any }).decode(data));
}

/**
 * Serializes as LangGraph's Python does, so that Go and Python load what it dumps; what they have no form for (errors,
 * regular expressions, maps, other LangChain objects than messages) it dumps as LangGraph's JavaScript does, which they read
 * as JSON. It loads what all of them write.
 */
export class SharedSerializer implements SerializerProtocol {
  /** @param json LangGraph's own serializer. */
  constructor(private readonly json: SerializerProtocol) {}

  async dumpsTyped(value: unknown): Promise<[string, Uint8Array]> {
    if (value === null) {
      return ["null", new Uint8Array()];
    }
    if (value === undefined) {
      return this.json.dumpsTyped(value); // A JavaScript runtime tells it from null.
    }
    if (value instanceof Uint8Array) {
      return ["bytes", value];
    }
    try {
      return ["msgpack", encode(value)];
    } catch (error) {
      if (error instanceof NoCommonFormError) {
        return this.json.dumpsTyped(value);
      }
      throw error;
    }
  }

  async loadsTyped(type: string, data: Uint8Array | string): Promise<any> {
    const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
    switch (type) {
      case "null":
        return null;
      case "bytes":
      case "bytearray":
        return new Uint8Array(bytes);
      case "msgpack":
        return decode(bytes);
      case "json":
        return this.json.loadsTyped(type, bytes);
      default:
        throw new Error(
          type.includes("+")
            ? `the value is encrypted (${type}); this saver has no key`
            : `values of type ${type} cannot be read in JavaScript`,
        );
    }
  }
}
