// The pages that need no token: the OpenAPI document, and the same for people. Made when first asked for.
import { jsonResponse } from './response/json-response.ts';

type Page = () => Promise<Response>;

export const publicPaths = { document: '/v1/openapi.json', page: '/docs' } as const;

export function publicPages(): ReadonlyMap<string, Page> {
  const document = once(async () => (await import('../../api/openapi/openapi.ts')).openApiDocument());
  const page = once(async () => (await import('../../pages/api/page.ts')).docsHtml(await document()));
  return new Map<string, Page>([
    [publicPaths.document, async () => jsonResponse(200, await document())],
    [publicPaths.page, async () => (await import('../../pages/api/page.ts')).docsResponse(await page())],
  ]);
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
