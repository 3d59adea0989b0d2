import type { Document, JsonSchema, Operation } from "./openapi.ts";
import { PREFIX } from "./route.ts";

const STYLE = `
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; text-transform: capitalize; }
details { border: 1px solid #8884; border-radius: 6px; margin: .5rem 0; padding: .4rem .8rem; }
summary { cursor: pointer; }
code, pre { font: 13px/1.45 ui-monospace, monospace; }
pre { background: #8881; border-radius: 6px; padding: .6rem; overflow: auto; }
.method { display: inline-block; min-width: 3.2rem; font-weight: 700; }
table { border-collapse: collapse; } td, th { text-align: left; padding: .15rem 1rem .15rem 0; vertical-align: top; }
:root { color-scheme: light dark; }
`;

const EXAMPLES = `<p>Submit a task, and wait up to a minute for its end:</p>
<pre>curl -H "Authorization: Bearer $ORRERY_KEY" -H "Content-Type: application/json" \\
  -d '{"executor": "agent-worker-1", "task_type": "resize_image", "payload": {"width": 640}}' \\
  http://127.0.0.1:2026${PREFIX}/submit

curl -H "Authorization: Bearer $ORRERY_KEY" "http://127.0.0.1:2026${PREFIX}/task/ID?wait=60"</pre>`;

/** The API on one page that needs nothing else: no script, no font, no other host. */
export function docsPage(document: Document): string {
  const tags = new Map<string, string[]>();
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const tag = operation.tags?.[0] ?? "other";
      tags.set(tag, [...(tags.get(tag) ?? []), operationHtml(method, path, operation)]);
    }
  }
  const sections = [...tags].map(([tag, operations]) => `<h2>${html(tag)}</h2>\n${operations.join("\n")}`);
  const schemas = Object.entries(document.components.schemas)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([name, schema]) =>
        `<details id="${html(name)}"><summary><code>${html(name)}</code></summary>${schemaHtml(schema)}</details>`,
    );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${html(document.info.title)} API</title><style>${STYLE}</style></head>
<body><h1>${html(document.info.title)} API <small>${html(document.info.version)}</small></h1>
<p>Send <code>Authorization: Bearer sk-…</code> with every request; <code>X-Zone-ID</code> and <code>X-Agent-ID</code> choose the zone and the agent. What goes wrong is answered as <code>application/problem+json</code>. The same for programs: <a href="/openapi.json">openapi.json</a>.</p>
${EXAMPLES}
${sections.join("\n")}
<h2>schemas</h2>
${schemas.join("\n")}
</body></html>
`;
}

function operationHtml(method: string, path: string, operation: Operation): string {
  const parts = [
    operation.description ? `<p>${html(operation.description)}</p>` : "",
    parametersHtml(operation),
    ...Object.entries(operation.requestBody?.content ?? {}).map(
      ([type, { schema }]) => `<h4>Body <small>${html(type)}</small></h4>${schemaHtml(schema)}`,
    ),
    ...Object.entries(operation.responses)
      .filter(([status]) => /^\d+$/.test(status))
      .map(([status, { content = {} }]) => {
        const [schema] = Object.values(content);
        return `<h4>Answer ${html(status)}</h4>${schema ? schemaHtml(schema.schema) : ""}`;
      }),
  ];
  return `<details><summary><span class="method">${method.toUpperCase()}</span> <code>${html(path)}</code> ${html(operation.summary ?? "")}</summary>${parts.join("")}</details>`;
}

function parametersHtml({ parameters = [] }: Operation): string {
  if (parameters.length === 0) return "";
  const rows = parameters.map(
    ({ name, in: place, description = "" }) =>
      `<tr><td><code>${html(name)}</code></td><td>${html(place)}</td><td>${html(description)}</td></tr>`,
  );
  return `<table>${rows.join("")}</table>`;
}

function schemaHtml(schema: JsonSchema): string {
  const reference = schema["$ref"];
  if (typeof reference === "string") {
    const name = reference.split("/").at(-1) ?? "";
    return `<p><a href="#${html(name)}"><code>${html(name)}</code></a></p>`;
  }
  return `<pre>${html(JSON.stringify(schema, undefined, 2))}</pre>`;
}

function html(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
