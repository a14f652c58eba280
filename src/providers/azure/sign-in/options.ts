// What all ways to sign in are given, and what they return.
import type { azureSignInWays } from '../../../domain/settings/settings.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Transport } from '../arm/transport.ts';

export type SignInWay = (typeof azureSignInWays)[number];

export interface SignInOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  /** `AZURE_TENANT_ID` and the like, as Azure's own tools read them. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `https://management.azure.com`, or the address of an emulator. */
  readonly resource: string;
  /** Where identities sign in: `https://login.microsoftonline.com`. */
  readonly authority: string;
  /** Only this way; absent: the first that is set up. */
  readonly way?: SignInWay | undefined;
}

export interface Token {
  readonly value: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}
