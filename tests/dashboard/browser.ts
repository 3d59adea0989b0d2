// A real browser that looks at the dashboard, and notes whatever it has to complain about.

import axe from "axe-core";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { findChromium } from "../../scripts/find-chromium.mjs";

/** A page, and what went wrong in it. */
export interface Watched extends AsyncDisposable {
  readonly page: Page;
  /** Errors of scripts and of the console, and requests to anywhere else. */
  readonly complaints: string[];
}

interface LookOptions extends BrowserContextOptions {
  /** Signed in with it; null: not signed in. */
  readonly key: string | null;
}

export class TestBrowser implements AsyncDisposable {
  readonly #browser: Browser;

  static async start(): Promise<TestBrowser> {
    const executablePath = findChromium();
    if (executablePath === undefined) throw new Error("no Chromium; node scripts/chromium.mjs installs it");
    return new TestBrowser(
      await chromium.launch({
        executablePath,
        args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
      }),
    );
  }

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  /** A tab of its own, that shares nothing with others. */
  async look(url: string, path: string, { key, ...options }: LookOptions): Promise<Watched> {
    const context = await this.#browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    // A busy machine is slow, not wrong.
    context.setDefaultTimeout(20_000);
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(`console: ${message.text()}`);
    });
    page.on("request", (request) => {
      if (!/^(data:|blob:)/.test(request.url()) && !request.url().startsWith(url))
        complaints.push(`request: ${request.url()}`);
    });
    if (key !== null) {
      const session = JSON.stringify(JSON.stringify({ key }));
      await page.addInitScript({ content: `sessionStorage.setItem("orrery.session", ${session})` });
    }
    await page.goto(url + path);
    return { page, complaints, [Symbol.asyncDispose]: () => context.close() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
  }
}

/** What axe finds that keeps people out, as lines. */
export async function seriousFindings(page: Page): Promise<string[]> {
  // The policy of the page lets no script in; what a debugger evaluates is not the page's.
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run());
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`);
}
