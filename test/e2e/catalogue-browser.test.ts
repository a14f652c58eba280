// The exported catalogue in a real browser: without scripts, from files, on a phone and on a wide screen, light and dark.
import { accessSync, constants } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeCatalog } from '../../src/cli/output/write-catalog.ts';
import { describedVersion, sampleCatalog, sampleNotes } from '../support/catalog-document.ts';

const program = findBrowser();
let browser: Browser;
let folder: string;

describe.skipIf(program === undefined)('in a browser', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'imago-site-'));
    await writeCatalog(join(folder, 'site'), sampleCatalog(), {
      async readRecord({ version, record }) {
        if (version !== describedVersion.version || record === 'provenance') return bytes('{}');
        return bytes(record === 'notes-markdown' ? sampleNotes : '{}');
      },
      onVersion: () => undefined,
      signal: AbortSignal.timeout(60_000),
    });
    browser = await chromium.launch({
      ...{ executablePath: program ?? '', chromiumSandbox: false },
      args: ['--disable-background-networking', '--disable-component-update', '--no-first-run'],
    });
  });
  afterAll(async () => {
    await browser?.close();
    await rm(folder, { recursive: true });
  });

  async function open<T>(path: string, options: BrowserContextOptions, look: (page: Page) => Promise<T>) {
    const context = await browser.newContext({ javaScriptEnabled: false, ...options });
    try {
      const page = await context.newPage();
      const troubles: string[] = [];
      page.on('console', (message) => troubles.push(message.text()));
      page.on('requestfailed', (request) => troubles.push(request.url()));
      await page.goto(pathToFileURL(join(folder, 'site', path)).href);
      const found = await look(page);
      expect(troubles).toEqual([]);
      return found;
    } finally {
      await context.close();
    }
  }

  const phone = {
    viewport: { width: 360, height: 740 },
    deviceScaleFactor: 2,
    isMobile: true,
    hasTouch: true,
  };
  const wide = { viewport: { width: 1280, height: 900 } };
  const versionPage = `images/${describedVersion.image}/${describedVersion.version}/index.html`;

  test('a developer goes from the front page to what is to be pasted, by links alone', async () => {
    await open('index.html', wide, async (page) => {
      expect(await page.title()).toBe('Reference node images');
      expect(await page.getByRole('heading', { level: 2 }).allTextContents()).toEqual([
        ...['Kubernetes 1.36', 'Kubernetes 1.35', 'Kubernetes 1.34', 'Withdrawn'],
      ]);
      await page.getByRole('link', { name: 'By region' }).click();
      await page.getByRole('heading', { name: 'southeastasia' }).waitFor();
      await page.getByRole('link', { name: 'By system' }).click();
      await page.getByRole('heading', { name: 'Windows x64' }).waitFor();
      await page.getByRole('link', { name: 'By Kubernetes' }).click();
      await page.getByRole('link', { name: 'debian-13 1.36.1' }).click();
      expect(await page.getByRole('heading', { level: 1 }).first().textContent()).toBe('debian-13 1.36.1');
      for (const tool of ['Cluster API (CAPZ)', 'Terraform', 'Bicep', 'Azure CLI']) {
        expect(await page.getByLabel(tool, { exact: true }).textContent()).toContain('nodes-5f0c9a1e');
      }
      await page.getByRole('link', { name: 'Bill of materials (CycloneDX)' }).waitFor();
      await page.getByRole('heading', { name: 'Components' }).waitFor();
    });
  });

  test('a withdrawn version says so, with its reason, and offers nothing to paste', async () => {
    await open('images/debian-13/1.36.0/index.html', wide, async (page) => {
      expect(await page.getByText('Withdrawn: do not use it.').isVisible()).toBe(true);
      expect(await page.getByText('Nodes lose their network after a reboot.').isVisible()).toBe(true);
      expect(await page.locator('pre').count()).toBe(0);
    });
  });

  test('no page is wider than a phone, and every word of a row is seen there', async () => {
    for (const path of ['index.html', 'systems.html', 'regions.html', versionPage]) {
      // Measuring needs a script; the pages themselves have none.
      await open(path, { ...phone, javaScriptEnabled: true }, async (page) => {
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
        expect(await page.evaluate('document.scripts.length')).toBe(0);
      });
    }
    await open('index.html', phone, async (page) => {
      const row = page.getByRole('row', { name: /debian-13-arm 1[.]36[.]1/ }).first();
      expect(await row.isVisible()).toBe(true);
      expect(await row.getByText('Linux arm64').isVisible()).toBe(true);
    });
  });

  test('the keyboard gets past the navigation at once, and sees where it is', async () => {
    await open('index.html', wide, async (page) => {
      await page.keyboard.press('Tab');
      const skip = page.getByRole('link', { name: 'Skip to the content' });
      expect((await skip.boundingBox())?.x).toBeGreaterThanOrEqual(0);
      await page.keyboard.press('Enter');
      expect(page.url()).toMatch(/#main$/);
    });
  });

  test('each page has one main part, one first heading, a language, and tables with headed columns', async () => {
    const pages = (await readdir(join(folder, 'site'), { recursive: true })).filter((name) =>
      name.endsWith('.html'),
    );
    expect(pages.length).toBe(13);
    await open('index.html', wide, async (page) => {
      for (const path of pages) {
        await page.goto(pathToFileURL(join(folder, 'site', path)).href);
        expect(await page.locator('html[lang=en]').count(), path).toBe(1);
        expect(await page.getByRole('main').count(), path).toBe(1);
        expect(await page.locator('h1').count(), path).toBe(1);
        const tables = await page.locator('table').count();
        expect(await page.locator('table:has(thead th[scope=col])').count(), path).toBe(tables);
      }
    });
  });

  // Pictures for the docs are taken with IMAGO_SCREENSHOTS=FOLDER.
  test.runIf(process.env.IMAGO_SCREENSHOTS)('pictures for the docs', async () => {
    const pictures: readonly [string, string, BrowserContextOptions, boolean][] = [
      ['catalogue', 'index.html', wide, false],
      ['catalogue-dark', 'index.html', { ...wide, colorScheme: 'dark' }, false],
      ['catalogue-version', versionPage, wide, true],
      ['catalogue-phone', 'index.html', phone, false],
    ];
    for (const [name, path, options, fullPage] of pictures) {
      await open(path, options, async (page) => {
        const target = join(process.env.IMAGO_SCREENSHOTS ?? '', `${name}.png`);
        await page.screenshot({ path: target, fullPage });
      });
    }
  });
});

async function* bytes(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

/** Debian's, or another one of its kind. */
function findBrowser(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
