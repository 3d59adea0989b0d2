export { BeadsFile } from "./beads/beads-file.ts";
export { readProject } from "./read-project.ts";
export { sourceFile } from "./source-file.ts";
