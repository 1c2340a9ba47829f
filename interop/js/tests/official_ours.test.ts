// The official suite on the saver that calls pgweft's functions.
import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";
import type { PgweftSaver } from "../src/pgweft_saver.js";
import { ourSaver, removeAll } from "./support.js";

let saver: PgweftSaver;
const initializer = {
  checkpointerName: "pgweft",
  beforeAll: () => {
    saver = ourSaver();
  },
  createCheckpointer: () => saver,
  // Each group of tests expects to find nothing.
  destroyCheckpointer: removeAll,
};
validate(initializer);
deltaChannelHistoryTests(initializer);
