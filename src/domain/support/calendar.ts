// The end of support of Kubernetes' minor versions, as its release pages give it. Kept as data: newer lines and
// corrections are added with `imago support set`, which beats what stands here.

export interface SupportDate {
  readonly product: string;
  /** As far as the version must agree: `1.34` stands for 1.34.0 and all that follow. */
  readonly line: string;
  /** The last day of support, YYYY-MM-DD. */
  readonly endsOn: string;
}

export const kubernetesCalendar: readonly SupportDate[] = [
  { product: 'kubernetes', line: '1.28', endsOn: '2024-10-28' },
  { product: 'kubernetes', line: '1.29', endsOn: '2025-02-28' },
  { product: 'kubernetes', line: '1.30', endsOn: '2025-06-28' },
  { product: 'kubernetes', line: '1.31', endsOn: '2025-10-28' },
  { product: 'kubernetes', line: '1.32', endsOn: '2026-02-28' },
  { product: 'kubernetes', line: '1.33', endsOn: '2026-06-28' },
  { product: 'kubernetes', line: '1.34', endsOn: '2026-10-27' },
  { product: 'kubernetes', line: '1.35', endsOn: '2027-02-28' },
  { product: 'kubernetes', line: '1.36', endsOn: '2027-06-28' },
];
