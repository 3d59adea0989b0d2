import { useEffect, useState } from "react";
import type { Layout } from "./layout.ts";
import type { RunShape } from "./shape.ts";

/** Undefined: it is being found. */
export function useLayout(shape: RunShape | undefined): Layout | undefined {
  const [found, setFound] = useState<{ readonly shape: RunShape; readonly layout: Layout }>();
  useEffect(() => {
    if (!shape) return undefined;
    const worker = new Worker(new URL("./layout-worker.ts", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<Layout>) => setFound({ shape, layout: data });
    worker.postMessage({ size: shape.size, edges: shape.edges });
    return () => worker.terminate();
  }, [shape]);
  return found && found.shape === shape ? found.layout : undefined;
}
