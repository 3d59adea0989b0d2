// A network that fails on demand, between a client and a server on this machine.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

export class CuttingProxy implements AsyncDisposable {
  /** So many answers get lost on their way back, after the server has done what was asked. */
  loseAnswers = 0;
  /** How many connections came. */
  connections = 0;
  /** Where new connections go: a server that was restarted may have another port. */
  targetPort: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  static async start(targetPort: number): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(targetPort);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  private constructor(targetPort: number) {
    this.targetPort = targetPort;
    this.#server = createServer((client) => {
      this.connections++;
      const upstream = connect(this.targetPort, "127.0.0.1");
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket);
        socket.on("error", () => {});
        socket.on("close", () => {
          this.#sockets.delete(socket);
          client.destroy();
          upstream.destroy();
        });
      }
      client.pipe(upstream);
      upstream.on("data", (chunk) => {
        if (this.loseAnswers === 0) client.write(chunk);
        else {
          this.loseAnswers--;
          client.destroy();
        }
      });
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Every connection that is open breaks. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.cut();
    await once(this.#server, "close");
  }
}
