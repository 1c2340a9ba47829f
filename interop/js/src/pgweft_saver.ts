/**
 * A LangGraph checkpointer that calls pgweft's SQL functions. All rules are theirs; what happens here is serialization, and
 * that channel versions are text as in Go and Python, so that a thread can pass between the three and branches share nothing
 * by accident.
 */
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  INTERRUPT,
  TASKS,
  isDeltaSnapshot,
  maxChannelVersion,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  type PendingWrite,
} from "@langchain/langgraph-checkpoint";
import pg from "pg";
import { SharedSerializer, interruptToWire } from "./msgpack.js";

/** A row of get_checkpoint and list_checkpoints. */
interface Row {
  thread_id: string;
  checkpoint_ns: string;
  checkpoint_id: string;
  parent_checkpoint_id: string | null;
  checkpoint: Checkpoint;
  metadata: CheckpointMetadata;
  value_channels: string[] | null;
  value_types: string[] | null;
  value_blobs: Buffer[] | null;
  write_task_ids: string[] | null;
  write_channels: string[] | null;
  write_types: string[] | null;
  write_blobs: Buffer[] | null;
  send_types: string[] | null;
  send_blobs: Buffer[] | null;
}

/** A row of delta_channel_history. */
interface HistoryRow {
  channel: string;
  kind: "seed" | "write";
  task_id: string;
  type: string | null;
  blob: Buffer;
  value: unknown;
}

/** SQLSTATE of pgweft: what was asked for does not exist. */
const NOT_FOUND = "LG001";

/** Its channel versions are text, or a number in threads that began so; the type parameter knows only one of them. */
export class PgweftSaver extends BaseCheckpointSaver<any> {
  private readonly schema: string;

  constructor(
    private readonly pool: pg.Pool,
    options: { schema?: string } = {},
  ) {
    super();
    this.serde = new SharedSerializer(this.serde);
    this.schema = pg.escapeIdentifier(options.schema ?? "langgraph");
  }

  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    if (!config.configurable?.thread_id) {
      return undefined; // As LangGraph's own savers answer.
    }
    const at = place(config);
    const rows = await this.query<Row>("get_checkpoint($1, $2, $3)", [at.thread_id, at.checkpoint_ns, at.checkpoint_id]);
    return rows.length === 0 ? undefined : this.tuple(rows[0]);
  }

  async *list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { thread_id, checkpoint_ns, checkpoint_id } = config.configurable ?? {};
    const { filter, before, limit } = options;
    const rows = await this.query<Row>("list_checkpoints($1, $2, $3, $4, $5, true, $6)", [
      thread_id ?? null,
      checkpoint_ns ?? null,
      filter && Object.keys(filter).length > 0 ? JSON.stringify(filter) : null,
      before?.configurable?.checkpoint_id ?? null,
      limit ?? null,
      checkpoint_id ?? null,
    ]);
    for (const row of rows) {
      yield this.tuple(row);
    }
  }

  async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const at = place(config);
    const values = checkpoint.channel_values;
    const channels = Object.keys(newVersions);
    const dumped = await Promise.all(
      channels.map((channel) => (channel in values ? this.serde.dumpsTyped(values[channel]) : (["empty", null] as const))),
    );
    // Every value is a blob; of a delta channel's snapshot the checkpoint itself says that there is one.
    const inline = Object.fromEntries(channels.filter((c) => isDeltaSnapshot(values[c])).map((c) => [c, true]));
    await this.query("put_checkpoint($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)", [
      at.thread_id,
      at.checkpoint_ns,
      checkpoint.id,
      at.checkpoint_id,
      json({ ...checkpoint, channel_values: inline }),
      json(metadata),
      channels,
      channels.map((channel) => String(newVersions[channel])),
      dumped.map(([type]) => type),
      dumped.map(([, data]) => data && Buffer.from(data)),
    ]);
    return {
      configurable: { thread_id: at.thread_id, checkpoint_ns: at.checkpoint_ns, checkpoint_id: checkpoint.id },
    };
  }

  async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
    const at = place(config);
    const dumped = await Promise.all(
      writes.map(([channel, value]) => this.serde.dumpsTyped(channel === INTERRUPT ? interruptToWire(value) : value)),
    );
    await this.query("put_writes($1, $2, $3, $4, '', null, $5, $6, $7)", [
      at.thread_id,
      at.checkpoint_ns,
      at.checkpoint_id,
      taskId,
      writes.map(([channel]) => channel),
      dumped.map(([type]) => type),
      dumped.map(([, data]) => Buffer.from(data)),
    ]);
  }

  async deleteThread(threadId: string): Promise<void> {
    await this.query("delete_thread($1)", [threadId]);
  }

  /** The stored value that each delta channel starts from and the writes since, along the parents, in one call. */
  override async getDeltaChannelHistory(options: {
    config: RunnableConfig;
    channels: string[];
  }): Promise<Record<string, { writes: [string, string, unknown][]; seed?: unknown }>> {
    const at = place(options.config);
    const history = Object.fromEntries(
      options.channels.map((channel) => [channel, { writes: [] } as { writes: [string, string, unknown][]; seed?: unknown }]),
    );
    if (options.channels.length === 0) {
      return history;
    }
    for (const row of await this.historyRows(at, options.channels)) {
      const value = row.type === null ? row.value : await this.serde.loadsTyped(row.type, row.blob);
      if (row.kind === "seed") {
        history[row.channel].seed = value;
      } else {
        history[row.channel].writes.push([row.task_id, row.channel, value]);
      }
    }
    return history;
  }

  /**
   * The version after one, as next_channel_version() of pgweft counts. Integers stay integers: a thread that LangGraph's own
   * saver began cannot change its kind of version, for the runtime compares them.
   */
  override getNextVersion(current: string | number | undefined): any {
    if (typeof current === "number") {
      return current + 1;
    }
    const counter = BigInt(current?.split(".")[0] ?? 0) + 1n;
    return `${String(counter).padStart(32, "0")}.${String(Math.random()).padStart(16, "0")}`;
  }

  private async historyRows(at: Place, channels: string[]): Promise<HistoryRow[]> {
    try {
      return await this.query<HistoryRow>("delta_channel_history($1, $2, $3, $4)", [
        at.thread_id,
        at.checkpoint_ns,
        at.checkpoint_id,
        channels,
      ]);
    } catch (error) {
      if ((error as pg.DatabaseError).code === NOT_FOUND) {
        return []; // A checkpoint that does not exist has no ancestors.
      }
      throw error;
    }
  }

  private async query<R extends object>(call: string, parameters: unknown[]): Promise<R[]> {
    return (await this.pool.query(`select * from ${this.schema}.${call}`, parameters)).rows;
  }

  private async tuple(row: Row): Promise<CheckpointTuple> {
    const at = { thread_id: row.thread_id, checkpoint_ns: row.checkpoint_ns };
    const stored = await this.loadAll(row.value_types, row.value_blobs);
    const written = await this.loadAll(row.write_types, row.write_blobs);
    const checkpoint = {
      ...row.checkpoint,
      channel_values: {
        ...row.checkpoint.channel_values,
        ...Object.fromEntries((row.value_channels ?? []).map((channel, i) => [channel, stored[i]])),
      },
    };
    if (row.send_types !== null) {
      // Before format 4 packets were no channel; now they are one, as new as the newest.
      const versions = Object.values(checkpoint.channel_versions) as number[];
      checkpoint.channel_values[TASKS] = await this.loadAll(row.send_types, row.send_blobs);
      checkpoint.channel_versions[TASKS] = versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
    }
    return {
      config: { configurable: { ...at, checkpoint_id: row.checkpoint_id } },
      checkpoint,
      metadata: row.metadata,
      parentConfig:
        row.parent_checkpoint_id === null
          ? undefined
          : { configurable: { ...at, checkpoint_id: row.parent_checkpoint_id } },
      pendingWrites: (row.write_task_ids ?? []).map((taskId, i) => [taskId, row.write_channels![i], written[i]]),
    };
  }

  private loadAll(types: string[] | null, blobs: Buffer[] | null): Promise<unknown[]> {
    return Promise.all((types ?? []).map((type, i) => this.serde.loadsTyped(type, blobs![i])));
  }
}

interface Place {
  thread_id: string;
  checkpoint_ns: string;
  checkpoint_id: string | null;
}

function place(config: RunnableConfig): Place {
  const { thread_id, checkpoint_ns, checkpoint_id } = config.configurable ?? {};
  if (!thread_id) {
    throw new Error('a checkpointer needs a thread: pass { configurable: { thread_id: "..." } }');
  }
  return { thread_id, checkpoint_ns: checkpoint_ns ?? "", checkpoint_id: checkpoint_id || null };
}

/** JSON for a jsonb parameter, which holds no NUL: LangGraph's savers leave it out, too. */
function json(value: unknown): string {
  return JSON.stringify(value, (_, field) => (typeof field === "string" ? field.replaceAll("\0", "") : field));
}
