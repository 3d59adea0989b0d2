import { invariant } from "../core/index.ts";
import { type AppOptions, buildApp } from "./http/app.ts";
import type { App } from "./http/route.ts";
import type { OpenService } from "./open-service.ts";

type Parts = Pick<OpenService, "api" | "gateway" | "schedules" | "webhooks" | "past">;

/**
 * Routes that are made before there is a service to answer from. They take longer to make than everything else does
 * when a server takes over, and until then it has nothing better to do.
 */
export class PreparedApp {
  readonly app: App;
  #service: Parts | undefined;

  private constructor(common: Omit<AppOptions, keyof Parts>) {
    const service = () => this.#service;
    this.app = buildApp({
      ...common,
      api: later(() => service()?.api),
      gateway: later(() => service()?.gateway),
      schedules: later(() => service()?.schedules),
      webhooks: later(() => service()?.webhooks),
      past: later(() => service()?.past),
    });
  }

  static async make(common: Omit<AppOptions, keyof Parts>): Promise<PreparedApp> {
    const prepared = new PreparedApp(common);
    await prepared.app.ready();
    return prepared;
  }

  /** From now on it answers. */
  serve(service: Parts): App {
    this.#service = service;
    return this.app;
  }
}

/** Stands for a part that is there when it is asked for something. */
function later<Part extends object>(part: () => Part | undefined): Part {
  const methods = new Map<PropertyKey, unknown>();
  return new Proxy({} as Part, {
    get(_, name): unknown {
      const known = methods.get(name);
      if (known !== undefined) return known;
      const there = part();
      invariant(there !== undefined, "an app is asked when it has a service");
      const value: unknown = Reflect.get(there, name, there);
      if (typeof value !== "function") return value;
      const method = (value as () => unknown).bind(there);
      // There is one part for all of the app's life.
      methods.set(name, method);
      return method;
    },
  });
}
