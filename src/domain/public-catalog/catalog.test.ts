// What anyone may see, and that no page can be broken out of.
import { expect, test } from 'vitest';
import { catalogFrontPages, catalogVersionPage, listVersions } from '../../pages/catalog/site.ts';
import { catalogStyle } from '../../pages/catalog/style.ts';
import { markdownToHtml } from '../../pages/markdown.ts';
import type { VersionRecord } from '../image/version.ts';
import { type CatalogDocument, catalogImage } from './catalog.ts';

const azure = {
  subscription: '00000000-0000-4000-8000-000000000001',
  resourceGroup: 'images',
  gallery: 'nodes',
};

function version(number: string, more: Partial<VersionRecord> = {}): VersionRecord {
  return {
    ...{ image: 'node', version: number, digest: `sha256:${number}`, diskDigest: 'sha256:d', sizeBytes: 1 },
    ...{ state: 'available', origin: { kind: 'built', lockDigest: 'l' }, operation: 'o' },
    ...{ kubernetes: '1.36.1', createdAt: `2026-11-0${number.at(-1)}T00:00:00.000Z` },
    ...more,
  };
}

const channel = { image: 'node', managed: false, position: 1, public: false };

function imageOf(versions: readonly VersionRecord[], more: object = {}) {
  return catalogImage({
    image: { name: 'node', os: 'linux', architecture: 'x64', numbering: 'semver', createdAt: '' },
    versions,
    channels: [
      { ...channel, name: 'staging', forTesting: true, version: '1.0.1' },
      { ...channel, name: 'production', forTesting: false, version: '1.0.1' },
    ],
    copies: [],
    dates: [{ product: 'kubernetes', line: '1.36', endsOn: '2027-06-28' }],
    described: new Set(),
    now: new Date('2026-11-16T00:00:00Z'),
    ...more,
  });
}

function siteOf(image: ReturnType<typeof imageOf>): string {
  const document: CatalogDocument = {
    schemaVersion: 1,
    title: 'Images',
    generatedAt: '2026-11-16',
    images: [image],
  };
  const pages = listVersions(document).map((listed) => catalogVersionPage(document, listed, {}));
  return [...catalogFrontPages(document), ...pages].map(({ path, text }) => `${path}\n${text}`).join('\n');
}

test('restricted versions, candidates and those withdrawn before a test passed never reach a page', () => {
  const image = imageOf([
    version('1.0.1'),
    version('1.0.2', { restricted: true }),
    version('1.0.3', { state: 'candidate' }),
    version('1.0.4', { state: 'withdrawn', withdrawnFrom: 'candidate', reason: 'hidden reason' }),
    version('1.0.5', { state: 'deleted' }),
    version('1.0.6', { state: 'withdrawn', withdrawnFrom: 'available', restricted: true }),
    version('1.0.7', { state: 'withdrawn', withdrawnFrom: 'available', reason: 'It does not boot.' }),
  ]);
  expect(image.versions.map((one) => one.version)).toEqual(['1.0.7', '1.0.1']);
  const site = siteOf(image);
  for (const number of ['1.0.2', '1.0.3', '1.0.4', '1.0.5', '1.0.6', 'hidden reason']) {
    expect(site).not.toContain(number);
  }
  expect(site).toContain('It does not boot.');
});

test('channels for testing are not told; support and the newest first are', () => {
  const { versions } = imageOf([version('1.0.1'), version('1.0.2', { kubernetes: 'v1.36.2' })]);
  expect(versions).toMatchObject([
    { version: '1.0.2', kubernetes: '1.36.2', channels: [] },
    { version: '1.0.1', channels: ['production'], support: { phase: 'supported', endsOn: '2027-06-28' } },
  ]);
});

test('references name the exact version; a community gallery shows no subscription', () => {
  const copy = { gallery: 'public', version: '1.0.1', regions: ['westeurope', 'eastus'] };
  const own = imageOf([version('1.0.1')], { copies: [{ ...copy, azure }] });
  const id = `/subscriptions/${azure.subscription}/resourceGroups/images/providers/Microsoft.Compute/galleries/nodes/images/node/versions/1.0.1`;
  const [place] = own.versions[0]?.places ?? [];
  expect(place?.regions).toEqual(['eastus', 'westeurope']);
  expect(place?.references.map(({ text }) => text)).toEqual([
    expect.stringContaining('    version: "1.0.1"\n    subscriptionID: 00000000-'),
    `source_image_id = "${id}"`,
    `imageReference: {\n  id: '${id}'\n}`,
    expect.stringContaining(`--image '${id}'`),
  ]);
  const open = { ...azure, communityName: 'nodes-f72ceb4f' };
  const shared = imageOf([version('1.0.1')], { copies: [{ ...copy, azure: open }] });
  expect(JSON.stringify(shared)).not.toContain(azure.subscription);
  expect(shared.versions[0]?.places[0]?.references[2]?.text).toContain(
    "communityGalleryImageId: '/CommunityGalleries/nodes-f72ceb4f/Images/node/Versions/1.0.1'",
  );
});

test('what others wrote stays text on every page, also in notes', () => {
  const nasty = '<script>alert(1)</script>"\'&';
  const image = imageOf([version('1.0.1', { state: 'deprecated', reason: nasty })]);
  const document: CatalogDocument = {
    schemaVersion: 1,
    title: nasty,
    generatedAt: '2026-11-16',
    images: [image],
  };
  const [listed] = listVersions(document);
  if (listed === undefined) throw new Error('Nothing is listed.');
  const notes = `# ${nasty}\n\n- ${nasty}\n\n| ${nasty} |\n|---|\n| \`${nasty}\` |\n\n\`\`\`\n${nasty}\n\`\`\`\n`;
  const pages = [
    ...catalogFrontPages(document).filter(({ path }) => path.endsWith('.html')),
    catalogVersionPage(document, listed, { 'notes-markdown': notes }),
  ];
  for (const { text } of pages) expect(text).not.toMatch(/<script|"'&[^#]/);
  expect(pages.at(-1)?.text).toContain('<pre tabindex="0"><code>&#60;script');
});

test('the Markdown of release notes becomes headings, lists, tables and code', () => {
  const { html } = markdownToHtml(
    '# A\n\ntext `x` **y**\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | a\\|b |\n\n### C\n',
  );
  expect(html).toContain('<h2>A</h2>');
  expect(html).toContain('<p>text <code>x</code> <strong>y</strong></p>');
  expect(html).toContain('<ul><li>one</li><li>two</li></ul>');
  expect(html).toContain('<td>a|b</td>');
  expect(html).toContain('<h4>C</h4>');
});

test('a table that never ends and a fence that never closes are read to the end', () => {
  expect(markdownToHtml('```\ncode').html).toContain('<code>code</code>');
  expect(markdownToHtml('|only\n').html).toContain('<p>|only</p>');
});

test.each(['light', 'dark'])(
  'every text of the %s colours can be read: a contrast of at least 4.5 to 1',
  (scheme) => {
    const [light = '', dark = ''] = catalogStyle.match(/:root \{[^}]*\}/g) ?? [];
    const colours = new Map(
      [...(scheme === 'light' ? light : dark).matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(
        ([, name, value]) => [name, value],
      ),
    );
    const pairs = [
      ...['ink page', 'soft page', 'link page', 'ink card', 'soft card', 'link card', 'ink plain-back'],
      ...['good good-back', 'warn warn-back', 'bad bad-back'],
    ];
    for (const pair of pairs) {
      const [front = '', back = ''] = pair.split(' ').map((name) => colours.get(name));
      expect(contrast(front, back), pair).toBeGreaterThanOrEqual(4.5);
    }
  },
);

/** As WCAG 2.2 has it. */
function contrast(a: string, b: string): number {
  const [light = 0, dark = 0] = [luminance(a), luminance(b)].toSorted((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
