/** The packages that interop/js has installed, as its package-lock.json says. */
import { createRequire } from "node:module";

export const require = createRequire(new URL("../../../interop/js/package.json", import.meta.url));
