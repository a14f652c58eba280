// The OpenAPI document as a page. Made here and complete: no script, no outside resource, readable by any
// browser and screen reader.
import { createHash } from 'node:crypto';
import type { OpenApiDocument, OpenApiOperation } from '../../api/openapi/openapi.ts';
import { type Html, html } from '../html.ts';
import { fieldsOf, fieldTable, typeOf } from './schema.ts';
import { docsStyle } from './style.ts';

const styleHash = createHash('sha256').update(docsStyle).digest('base64');

interface Entry {
  readonly method: string;
  readonly path: string;
  readonly operation: OpenApiOperation;
}

export function docsResponse(page: string): Response {
  return new Response(page, {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-cache',
    },
  });
}

export function docsHtml(document: OpenApiDocument): string {
  const entries = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const groups = document.tags.map(({ name, description }) => ({
    name,
    description,
    entries: entries.filter(({ operation }) => operation.tags.includes(name)),
  }));
  const schemas = Object.entries(document.components.schemas);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Imago API</title>
<style>${{ html: docsStyle }}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<div class="page">
<nav aria-label="Endpoints and schemas">
${groups.map(
  (group) => html`<h2>${group.name}</h2>
<ul>${group.entries.map(({ operation }) => html`<li><a href="#${operation.operationId}">${operation.operationId}</a></li>`)}</ul>
`,
)}<h2>Schemas</h2>
<ul>${schemas.map(([name]) => html`<li><a href="#schema-${name}">${name}</a></li>`)}</ul>
</nav>
<main id="content">
<h1>Imago API</h1>
<p>${String(document.info.description)}</p>
<p>As a document: <a href="/v1/openapi.json">openapi.json</a> (OpenAPI ${document.openapi}).</p>
${groups.map(
  (group) => html`<section aria-labelledby="tag-${group.name}">
<h2 id="tag-${group.name}">${group.name}</h2>
<p>${group.description}</p>
${group.entries.map(endpointHtml)}</section>
`,
)}<section aria-labelledby="schemas">
<h2 id="schemas">Schemas</h2>
${schemas.map(
  ([name, schema]) => html`<h3 id="schema-${name}">${name}</h3>
<p>${typeof schema.description === 'string' ? schema.description : ''}</p>
${fieldsOf(schema, `Fields of ${name}`)}
`,
)}</section>
</main>
</div>
</body>
</html>
`.html;
}

function endpointHtml({ method, path, operation }: Entry): Html {
  return html`<article aria-labelledby="${operation.operationId}">
<h3 id="${operation.operationId}">${operation.operationId}</h3>
<p><span class="method">${method}</span> <code>${path}</code></p>
<p>${operation.summary}. <span class="soft">${operation.description}</span></p>
${parametersHtml(operation)}${bodyHtml(operation)}<h4>Answers</h4>
<ul>${Object.entries(operation.responses).map(
    ([status, { description, content }]) =>
      html`<li><strong>${status}</strong>: ${description} ${Object.entries(content).map(
        ([type, { schema }]) => html`<code>${type}</code> ${typeOf(schema)} `,
      )}</li>`,
  )}</ul>
</article>
`;
}

function parametersHtml({ operationId, parameters }: OpenApiOperation): Html | undefined {
  if (parameters.length === 0) return undefined;
  const rows = parameters.map(({ name, in: place, required, description = '', schema }) => ({
    name,
    type: html`${typeOf(schema)} <span class="soft">in the ${place}</span>`,
    needed: required,
    says: description,
  }));
  return fieldTable(`Parameters of ${operationId}`, rows);
}

function bodyHtml({ requestBody }: OpenApiOperation): Html | undefined {
  if (requestBody === undefined) return undefined;
  return html`<h4>Body${requestBody.required ? '' : ' (may be left out)'}</h4>
${Object.entries(requestBody.content).map(([type, { schema }]) => html`<p><code>${type}</code> ${typeOf(schema)}</p>`)}`;
}
