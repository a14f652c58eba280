// Loaded into a process with `--import`: writes a line for each HTTP request that it sends into IMAGO_TEST_REQUESTS.
import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';
import type { ClientRequest } from 'node:http';

subscribe('http.client.request.start', (message) => {
  const { method, path } = (message as { readonly request: ClientRequest }).request;
  appendFileSync(process.env.IMAGO_TEST_REQUESTS ?? '/dev/null', `${method} ${path}\n`);
});
