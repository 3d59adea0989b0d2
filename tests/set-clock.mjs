// Preloaded into a server: sets its clock ahead by the milliseconds in a file, which may change while it runs.

import { readFileSync } from "node:fs";

const file = process.env["SET_CLOCK_FILE"] ?? "";
const machineNow = Date.now.bind(Date);
let aheadMs = 0;

function look() {
  aheadMs = Number(readFileSync(file, "utf8"));
}

look();
setInterval(look, 20).unref();
Date.now = () => machineNow() + aheadMs;
