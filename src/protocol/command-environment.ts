/**
 * The environment of commands: shell tasks, programs of a tasks file, and `run` nodes.
 *
 * A command runs what a caller submitted, so it must not see the keys of the server or worker that starts it. Removing
 * known secrets would let through every secret that nobody thought of; so a worker passes on only a list of names.
 */

export type Environment = Readonly<Record<string, string>>;

type ProcessEnvironment = Readonly<Record<string, string | undefined>>;

const PASSED = /^(?:PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR)$/;
const SECRET = /^(?:ORRERY_.*|DATABASE_URL|PG.*|OTEL_.*HEADERS)$/;

/** Whether a variable of this name may hold a key of Orrery or the password of its database. Commands never inherit it. */
export function isSecretVariable(name: string): boolean {
  return SECRET.test(name);
}

/** Returns the variables that a worker passes to its commands: a fixed list, and those that its operator named. */
export function listedEnvironment(env: ProcessEnvironment, named: readonly string[] = []): Environment {
  const isPassed = (name: string): boolean =>
    PASSED.test(name) || (named.includes(name) && !isSecretVariable(name));
  return pick(env, isPassed);
}

/** Returns everything but secrets: for commands that users run on their own machine, as their shell would. */
export function ownEnvironment(env: ProcessEnvironment): Environment {
  return pick(env, (name) => !isSecretVariable(name));
}

function pick(env: ProcessEnvironment, isPassed: (name: string) => boolean): Environment {
  const passed = Object.entries(env).filter(([name, value]) => value !== undefined && isPassed(name));
  return Object.fromEntries(passed) as Environment;
}
