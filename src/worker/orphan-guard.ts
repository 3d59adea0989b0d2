/**
 * Kills the process groups of our commands when this process dies, by whatever cause.
 *
 * A handler cannot run after SIGKILL, so somebody else has to notice. One small shell per process of ours reads
 * the groups to watch from a pipe; the kernel closes the pipe when we die, and the shell kills what is still on
 * its list.
 *
 * A watchdog inside each group was rejected: the command would see a child that it never started (a program that
 * waits for all its children would wait for ever), and each one would end as an orphan for init to reap, which
 * many containers do not do. PR_SET_PDEATHSIG reaches the first process only, not the tree below it.
 *
 * A group leaves the list at most a few hundred milliseconds after its last member was reaped. Ids are handed out
 * in a circle, so none comes round again within that time.
 */

import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Writable } from "node:stream";

const SCRIPT = `
trap '' HUP INT TERM
live=' '
while read -r change group; do
  case $change in
    +) live="$live$group " ;;
    -) live="\${live%% $group *} \${live#* $group }" ;;
  esac
done
for group in $live; do kill -s KILL -- "-$group"; done
`;

const groups = new Set<number>();
let guard: Writable | undefined;

export function guardGroup(group: number): void {
  groups.add(group);
  if (guard) guard.write(`+ ${group}\n`);
  else guard = startGuard();
}

export function releaseGroup(group: number): void {
  groups.delete(group);
  guard?.write(`- ${group}\n`);
}

/** Without a guard commands still run; they only outlive a crash of ours. The next command tries again. */
function startGuard(): Writable | undefined {
  const child = spawnGuard();
  if (child?.pid === undefined) return undefined;
  const { stdin } = child;
  child.unref();
  child.once("exit", () => {
    if (guard === stdin) guard = undefined;
  });
  stdin.on("error", () => {});
  for (const group of groups) stdin.write(`+ ${group}\n`);
  return stdin;
}

function spawnGuard(): ChildProcessByStdio<Writable, null, null> | undefined {
  const args = ["-c", SCRIPT, "orrery-guard"];
  try {
    // Detached: Ctrl-C reaches the whole foreground group, and the guard has to outlive us.
    const child = spawn("/bin/sh", args, {
      cwd: "/",
      env: {},
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
    });
    child.on("error", () => {});
    return child;
  } catch {
    return undefined;
  }
}
