// The catalogue for people, as files.
import {
  type CatalogDocument,
  type CatalogImage,
  catalogSchemaVersion,
} from '../../../domain/public-catalog/catalog.ts';
import { createProgress } from '../../output/progress.ts';
import { writeCatalog } from '../../output/write-catalog.ts';
import { argument, type CommandSpec, text, texts } from '../../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Write the catalogue for people as a static site and JSON',
  details:
    'Pages that need no script and no account: what is available, until when, in which regions, with notes, bills of materials, digests, and what to paste into CAPZ, Terraform, Bicep and az. Versions with private inputs and candidates are never in it. An earlier export in the folder is replaced as a whole.',
  args: [{ name: 'FOLDER', what: 'where to write it', completes: 'file' }],
  flags: {
    title: { what: 'the name of the catalogue (default: Node images)', value: 'TEXT' },
    image: { what: 'only this image; again for more', value: 'NAME', repeated: true, completes: 'image' },
  },
  examples: [['imago catalog export public/', 'for any web server']],
  async run(invocation) {
    const client = await invocation.client();
    const folder = argument(invocation, 'FOLDER');
    const view = createProgress(invocation.out, process.stderr, () => performance.now());
    try {
      const images: CatalogImage[] = [];
      for (const image of await namesOf()) {
        const found = await client.call('showCatalogImage', { path: { image } });
        if (found.versions.length > 0) images.push(found);
      }
      const document: CatalogDocument = {
        schemaVersion: catalogSchemaVersion,
        title: text(invocation, 'title') ?? 'Node images',
        generatedAt: new Date().toISOString(),
        images,
      };
      const { files, versions } = await writeCatalog(folder, document, {
        readRecord: async (path) => {
          const { content } = await client.download('readRecord', { path }, { signal: invocation.signal });
          return content;
        },
        onVersion: (done, total) => view.update('export', done, total, `${done} of ${total} versions`),
        signal: invocation.signal,
      });
      view.end();
      invocation.out.thing({ folder, images: images.length, versions, files }, folder, () => [
        `Wrote ${versions} versions of ${images.length} images to ${folder}: open index.html`,
      ]);
    } finally {
      view.end();
    }

    async function namesOf(): Promise<readonly string[]> {
      const asked = texts(invocation, 'image');
      if (asked.length > 0) return [...new Set(asked)];
      const names: string[] = [];
      for await (const { name } of client.items('listImages', {})) names.push(name);
      return names;
    }
  },
};
