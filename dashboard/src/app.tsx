import { QueryClientProvider } from "@tanstack/react-query";
import { lazy, Suspense, useEffect } from "react";
import { Route, Router, Switch } from "wouter";
import { client } from "./api/client.ts";
import { carried } from "./api/moment.ts";
import { useSession } from "./api/session.ts";
import { Boundary } from "./parts/boundary.tsx";
import { Login } from "./screens/login/login.tsx";
import { Shell } from "./shell/shell.tsx";

// Each screen is loaded when it is first looked at.
const Overview = lazy(async () => ({ default: (await import("./screens/overview/overview.tsx")).Overview }));

const Tasks = lazy(async () => ({ default: (await import("./screens/tasks/tasks.tsx")).Tasks }));
const Task = lazy(async () => ({ default: (await import("./screens/task/task.tsx")).Task }));
const Runs = lazy(async () => ({ default: (await import("./screens/runs/runs.tsx")).Runs }));
const Run = lazy(async () => ({ default: (await import("./screens/run/run.tsx")).Run }));
const Workers = lazy(async () => ({ default: (await import("./screens/workers/workers.tsx")).Workers }));
const Cluster = lazy(async () => ({ default: (await import("./screens/cluster/cluster.tsx")).Cluster }));
const Keys = lazy(async () => ({ default: (await import("./screens/keys/keys.tsx")).Keys }));
const Queues = lazy(async () => ({ default: (await import("./screens/queues/queues.tsx")).Queues }));
const Ledger = lazy(async () => ({ default: (await import("./screens/ledger/ledger.tsx")).Ledger }));
const Worker = lazy(async () => ({ default: (await import("./screens/workers/worker.tsx")).Worker }));

const WhatIf = lazy(async () => ({ default: (await import("./screens/what-if/what-if.tsx")).WhatIf }));

export function App() {
  const session = useSession();
  useEffect(() => {
    if (!session) client.clear();
  }, [session]);
  return (
    <QueryClientProvider client={client}>
      <Router hrefs={carried} aroundNav={(navigate, to, options) => navigate(carried(to), options)}>
        {session ? (
          <Shell>
            <Boundary>
              <Suspense fallback={<p className="quiet loading">Loading…</p>}>
                <Switch>
                  <Route path="/" component={Overview} />
                  <Route path="/tasks" component={Tasks} />
                  <Route path="/tasks/:id">{({ id }) => <Task key={id} id={id} />}</Route>
                  <Route path="/runs" component={Runs} />
                  <Route path="/runs/:id">{({ id }) => <Run key={id} id={id} />}</Route>
                  <Route path="/queues" component={Queues} />
                  <Route path="/cluster" component={Cluster} />
                  <Route path="/keys" component={Keys} />
                  <Route path="/ledger" component={Ledger} />
                  <Route path="/workers" component={Workers} />
                  <Route path="/workers/:id">{({ id }) => <Worker key={id} name={id} />}</Route>
                  <Route path="/what-if" component={WhatIf} />
                  <Route>
                    <p className="quiet">There is no such page.</p>
                  </Route>
                </Switch>
              </Suspense>
            </Boundary>
          </Shell>
        ) : (
          <Login />
        )}
      </Router>
    </QueryClientProvider>
  );
}
