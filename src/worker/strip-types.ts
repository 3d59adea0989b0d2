/**
 * TypeScript to JavaScript by blanking out the types, so that lines and columns stay as they are.
 *
 * Newer versions of Node do this by themselves, with the same parser; Node 20 does not. Doing it here on all of
 * them makes a tasks file mean the same everywhere, and gives errors a line.
 */

interface ParserError {
  readonly message: string;
  readonly snippet?: string;
  readonly startLine?: number;
  readonly startColumn?: number;
}

export async function stripTypes(source: string, file: string): Promise<string> {
  const { transformSync } = await import("@swc/wasm-typescript");
  try {
    return transformSync(source, { mode: "strip-only", filename: file }).code;
  } catch (error) {
    throw new SyntaxError(describe(error as ParserError, file));
  }
}

function describe({ message, snippet, startLine, startColumn = 0 }: ParserError, file: string): string {
  const place = startLine === undefined ? file : `${file}:${startLine}:${startColumn + 1}`;
  return `${place}: ${message}${snippet === undefined ? "" : `\n${snippet.trimEnd()}`}`;
}
