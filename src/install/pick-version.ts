// Which of several versions of a component is in use: a link, set when the image is baked and again at first boot
// when the node config names another one.
import { ImagoError } from '../domain/error/imago-error.ts';
import { orList } from '../domain/value/suggest.ts';
import type { Host } from './host.ts';
import { type ComponentReceipt, receiptPath } from './receipt.ts';

/** Throws `input-invalid` when the image does not have that component or version. A second call changes nothing. */
export async function pickVersion(host: Host, name: string, version: string): Promise<void> {
  const text = await host.readText(receiptPath(name));
  if (text === undefined) throw new ImagoError('input-invalid', `This image has no component ${name}.`);
  await linkPicked(host, JSON.parse(text) as ComponentReceipt, version);
}

export async function linkPicked(host: Host, receipt: ComponentReceipt, version: string): Promise<void> {
  const found = receipt.versions.find((candidate) => candidate.version === version);
  if (found?.path === undefined || receipt.link === undefined) {
    const known = receipt.versions.map((candidate) => candidate.version);
    throw new ImagoError('input-invalid', `This image has no ${receipt.name} ${version} to pick.`, {
      hint: `It has ${orList(known)}.`,
    });
  }
  await host.link(receipt.link, found.path);
}
