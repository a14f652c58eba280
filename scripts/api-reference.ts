// docs/api.md: how to talk to the daemon, and the table of endpoints with the role that each needs.

import { contractOf, type EndpointName, endpointNames, isWrite } from '../src/api/contract/contract.ts';
import { tags } from '../src/api/contract/endpoint.ts';
import { defaultLimits } from '../src/daemon/http/guard/limits.ts';

const introduction = `# The API

Made by \`npm run generate\`: edit \`scripts/api-reference.ts\`, not this file.

The command line, the dashboard and CI all use this API, and none has a private path. The whole of it, with
every field, is in \`docs/openapi.json\` (OpenAPI 3.1), and at \`/v1/openapi.json\` of a running daemon.

## Doors

- **Unix socket.** Always open; \`imago status\` says where. Without a token the caller is \`local\`: an admin of
  this machine, who counts as one person and never as an approver. With a token it is the token's owner.
- **TCP.** Only with \`imago up --listen HOST:PORT\`, and then every request needs \`Authorization: Bearer TOKEN\`,
  save for \`/v1/openapi.json\`. Beyond loopback it always speaks TLS, with the certificate of
  \`--tls-cert\` and \`--tls-key\` or with its own; see [security.md](security.md). On a loopback address the \`Host\` must be a loopback name too, so that web pages cannot reach it by a name of theirs.

\`\`\`
imago token create --owner ci --role publisher
curl --unix-socket "$(imago status -o json | jq -r .sockets.api)" http://localhost/v1/status
\`\`\`

## What holds for all

- **Roles.** viewer, operator, publisher, admin; each may do all that the ones before it may. Cancelling, trying
  again, answering or scheduling an operation needs the role that starting it needs.
- **Writes** that start an operation are answered at once with 202 and its record; watch it by
  \`/v1/events?subject=operation/ID\` or \`/v1/operations/ID/wait\`. \`?dryRun=true\` answers with the plan and
  writes nothing. Every write, done or refused, leaves a row in the audit.
- **\`Idempotency-Key\`.** A write repeated with its key, within a day and by the same caller, is done once and
  answered the same (\`Idempotent-Replayed: true\`). The same key for another request is 422; while the first is
  in progress, 409. After that day the key is refused: its response is no longer stored.
- **Lists** are \`{"items": […], "next": …}\`; give \`next\` back as \`cursor\`. \`limit\` is 1 to 1000.
- **Errors** are problem documents (RFC 9457) with \`code\`, \`hint\`, \`retryable\` and \`requestId\`; the codes are
  in [errors.md](errors.md).
- **Events** are server-sent. After a cut, send the id of the last one as \`Last-Event-ID\`: none is lost, none
  comes twice. Ids that are older than what is kept are answered with 410.
- **Limits.** Bodies: ${defaultLimits.bodyBytes / 1024 / 1024} MiB, within ${defaultLimits.bodyMs / 1000} s. Requests of a token: ${defaultLimits.tokenPerSecond} a second, ${defaultLimits.tokenBurst} at once.
  Requests of an address without a good token: ${defaultLimits.addressPerSecond} a second, ${defaultLimits.addressBurst} at once. Event streams: ${defaultLimits.streamsEach} a
  caller, ${defaultLimits.streams} in all. Beyond: 429 with \`Retry-After\`.

## Endpoints

`;

export function apiReference(): string {
  const sections = Object.entries(tags).map(([tag, description]) => {
    const rows = endpointNames.filter((name) => contractOf(name).tag === tag).map(row);
    return [
      `### ${tag}`,
      '',
      description,
      '',
      '| endpoint | request | role | does |',
      '|---|---|---|---|',
      ...rows,
      '',
    ].join('\n');
  });
  return introduction + sections.join('\n');
}

function row(name: EndpointName): string {
  const endpoint = contractOf(name);
  const kind = endpoint.effect === 'operation' ? ' (operation)' : isWrite(endpoint) ? ' (write)' : '';
  return `| \`${name}\` | \`${endpoint.method} ${endpoint.url}\` | ${endpoint.role} | ${endpoint.summary}${kind} |`;
}
