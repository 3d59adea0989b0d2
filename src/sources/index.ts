export { readProject } from "./read-project.ts";
