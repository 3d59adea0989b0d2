import { useEffect, useRef, useState } from "react";
import { open } from "../../api/request.ts";
import { bytesText } from "../../parts/numbers.ts";
import { save } from "../../parts/save.ts";

/** Where the browser can write into a file as it comes, that is done. */
interface Saving {
  showSaveFilePicker?(options: { suggestedName: string }): Promise<{
    createWritable(): Promise<WritableStream<Uint8Array>>;
  }>;
}

const NAME = "ledger.jsonl";

/** The whole ledger as a file, for orrery verify, replay and why. */
export function Export() {
  const [bytes, setBytes] = useState<number>();
  const [problem, setProblem] = useState("");
  const stop = useRef<AbortController>(undefined);
  useEffect(() => () => stop.current?.abort(), []);
  const start = async () => {
    const controller = new AbortController();
    stop.current = controller;
    setProblem("");
    setBytes(0);
    try {
      const picked = await (window as Saving).showSaveFilePicker?.({ suggestedName: NAME });
      const { body } = await open("/ledger", {}, controller.signal);
      const counted = body?.pipeThrough(counting(setBytes));
      if (picked) await counted?.pipeTo(await picked.createWritable());
      else save(NAME, "application/jsonl", await new Response(counted ?? null).blob());
    } catch (error) {
      if ((error as Error).name !== "AbortError") setProblem((error as Error).message);
    }
    setBytes(undefined);
  };
  return (
    <>
      {problem !== "" && <span className="failed">{problem}</span>}
      <button type="button" onClick={() => void (bytes === undefined ? start() : stop.current?.abort())}>
        {bytes === undefined ? "Export" : `Stop (${bytesText(bytes)})`}
      </button>
    </>
  );
}

function counting(tell: (bytes: number) => void): TransformStream<Uint8Array, Uint8Array> {
  let sum = 0;
  return new TransformStream({
    transform(piece, controller) {
      sum += piece.byteLength;
      tell(sum);
      controller.enqueue(piece);
    },
  });
}
