// The errors of the storage service: XML, with the code in a header too.
export class BlobError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = 'BlobError';
    this.status = status;
    this.code = code;
  }
}

export function xml(content: string): Buffer {
  return Buffer.from(`\uFEFF<?xml version="1.0" encoding="utf-8"?>${content}`);
}

export function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
