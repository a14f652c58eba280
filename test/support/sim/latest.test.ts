import { describe, expect, it } from 'vitest';
import type { GalleryVersion, RegionState } from '../../../src/ports/provider/gallery.ts';
import { galleryLatest } from './latest.ts';

function version(number: string, change: Partial<GalleryVersion> = {}): GalleryVersion {
  return {
    image: 'node',
    version: number,
    source: { kind: 'disk', digest: 'sha256:0' },
    excludeFromLatest: false,
    tags: {},
    state: 'ready',
    regions: [inRegion('north')],
    createdAt: '2026-01-01T00:00:00Z',
    ...change,
  };
}

function inRegion(region: string, change: Partial<RegionState> = {}): RegionState {
  return { region, replicas: 1, state: 'ready', percent: 100, ...change };
}

function latest(
  versions: readonly GalleryVersion[],
  region: string | undefined = 'north',
): string | undefined {
  return galleryLatest(versions, region)?.version;
}

describe("the gallery's latest", () => {
  it('is the highest number, not the newest', () => {
    const newer = version('1.35.9', { createdAt: '2027-01-01T00:00:00Z' });
    expect(latest([version('1.36.1'), newer])).toBe('1.36.1');
    expect(latest([version('1.9.0'), version('1.10.0')])).toBe('1.10.0');
  });

  it('is nothing where no version is ready', () => {
    expect(latest([])).toBeUndefined();
    expect(latest([version('1.0.0')], 'south')).toBeUndefined();
    const copying = version('1.0.0', { regions: [inRegion('north', { state: 'replicating', percent: 5 })] });
    expect(latest([copying])).toBeUndefined();
    expect(latest([version('1.0.0', { state: 'deleting' })])).toBeUndefined();
  });

  it("a region's flag beats the version's own", () => {
    const excluded = version('2.0.0', { excludeFromLatest: true });
    expect(latest([version('1.0.0'), excluded])).toBe('1.0.0');
    const allowed = {
      ...excluded,
      regions: [inRegion('north', { excludeFromLatest: false }), inRegion('south')],
    };
    expect(latest([version('1.0.0'), allowed])).toBe('2.0.0');
    expect(latest([version('1.0.0'), allowed], 'south')).toBeUndefined();
    const barred = version('2.0.0', { regions: [inRegion('north', { excludeFromLatest: true })] });
    expect(latest([version('1.0.0'), barred])).toBe('1.0.0');
  });

  it('does not mind an end of life that has passed', () => {
    expect(latest([version('1.0.0'), version('2.0.0', { endOfLife: '2001-01-01T00:00:00Z' })])).toBe('2.0.0');
  });

  it('without regions goes by the version alone', () => {
    const versions = [
      version('1.0.0', { regions: [] }),
      version('2.0.0', { regions: [], excludeFromLatest: true }),
    ];
    expect(galleryLatest(versions, undefined)?.version).toBe('1.0.0');
  });
});
