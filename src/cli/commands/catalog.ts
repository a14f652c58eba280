// Exports the public catalog as files.
import {
  type CatalogDocument,
  type CatalogImage,
  catalogSchemaVersion,
} from '../../domain/public-catalog/catalog.ts';
import { createProgress } from '../output/progress.ts';
import { writeCatalog } from '../output/write-catalog.ts';
import { group } from '../run/builders.ts';
import { argument, type CommandSpec, text, texts } from '../spec/command.ts';

const exportCatalog: CommandSpec = {
  summary: 'Export the catalog as a static website and JSON',
  details:
    'The pages need no scripts and no account: available versions, their support dates and regions, with release notes, SBOMs, digests, and snippets for CAPZ, Terraform, Bicep, and az. Candidates and versions with private inputs are never included. An earlier export in the directory is replaced.',
  args: [{ name: 'DIRECTORY', description: 'Output directory', completes: 'file' }],
  flags: {
    title: { description: 'Title of the catalog (default: Node images)', value: 'TEXT' },
    image: {
      description: 'Image to include (default: all)',
      value: 'NAME',
      repeated: true,
      completes: 'image',
    },
  },
  examples: [['imago catalog export public/', 'Export it for a web server']],
  async run(invocation) {
    const client = await invocation.client();
    const folder = argument(invocation, 'DIRECTORY');
    const { signal } = invocation;
    const view = createProgress(invocation.out, process.stderr, () => performance.now());
    try {
      const chosen = texts(invocation, 'image');
      const names =
        chosen.length > 0
          ? [...new Set(chosen)]
          : (await Array.fromAsync(client.items('listImages'))).map(({ name }) => name);
      const images: CatalogImage[] = [];
      for (const image of names) {
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
        readRecord: async (path) => (await client.download('readRecord', { path }, { signal })).content,
        onVersion: (done, total) => view.update('export', done, total, `${done} of ${total} versions`),
        signal,
      });
      view.end();
      invocation.out.thing({ folder, images: images.length, versions, files }, folder, () => [
        `Wrote ${versions} versions of ${images.length} images to ${folder}: open index.html`,
      ]);
    } finally {
      view.end();
    }
  },
};

export const command = group({ export: exportCatalog });
