import { inMemory, onPostgres } from "./orrery.mjs";

/** All that are measured, side by side. @type {readonly import("./system.mjs").System[]} */
export const SYSTEMS = [onPostgres, inMemory];
