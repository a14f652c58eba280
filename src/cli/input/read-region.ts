// A region and how many copies to keep there, as `REGION` or `REGION=N`.
import { usage } from '../spec/parse.ts';

export function readRegion(
  word: string,
  command: string,
): { readonly region: string; readonly replicas: number } {
  const [, region, count = '1'] = /^([\w-]+)(?:=(\d{1,3}))?$/.exec(word) ?? [];
  if (region === undefined || Number(count) < 1) {
    throw usage(`--region is REGION or REGION=N, not ${JSON.stringify(word)}.`, command);
  }
  return { region, replicas: Number(count) };
}
