// The errors of Azure Resource Manager, and how the refusals of the cloud model become them.
import { ensureImagoError } from '../../domain/error/imago-error.ts';
import type { Json } from './json.ts';
import type { Address } from './resource-id.ts';

export class ArmError extends Error {
  readonly status: number;
  readonly code: string;
  readonly target: string | undefined;
  /** Seconds until trying again helps. */
  readonly retryAfter: number | undefined;

  constructor(
    status: number,
    code: string,
    message: string,
    options: { readonly target?: string; readonly retryAfter?: number } = {},
  ) {
    super(message);
    this.name = 'ArmError';
    this.status = status;
    this.code = code;
    this.target = options.target;
    this.retryAfter = options.retryAfter;
  }

  toBody(): Json {
    const target = this.target === undefined ? {} : { target: this.target };
    return { error: { code: this.code, message: this.message, ...target } };
  }
}

export function resourceNotFound({ id, group }: Address): ArmError {
  const resource = id.replace(/^.*\/providers\//i, '');
  return new ArmError(
    404,
    'ResourceNotFound',
    `The Resource '${resource}' under resource group '${group}' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix`,
  );
}

/** What the resource provider says of something that it does not have. */
export function gone(): ArmError {
  return new ArmError(404, 'NotFound', 'The entity was not found in this Azure location.');
}

export function invalidParameter(target: string, message: string): ArmError {
  return new ArmError(400, 'InvalidParameter', message, { target });
}

function notAllowed(message: string): ArmError {
  return new ArmError(409, 'OperationNotAllowed', message);
}

/** Content that is fixed once made. */
export function changeNotAllowed(property: string): ArmError {
  return new ArmError(409, 'PropertyChangeNotAllowed', `Changing property '${property}' is not allowed.`, {
    target: property,
  });
}

export function toArmError(thrown: unknown): ArmError {
  if (thrown instanceof ArmError) return thrown;
  const error = ensureImagoError(thrown);
  if (error.code === 'provider-not-found') return new ArmError(404, 'NotFound', error.message);
  if (['provider-conflict', 'provider-quota', 'provider-lacks'].includes(error.code))
    return notAllowed(error.message);
  if (error.kind === 'input') return new ArmError(400, 'InvalidParameter', error.message);
  return new ArmError(500, 'InternalServerError', error.message);
}
