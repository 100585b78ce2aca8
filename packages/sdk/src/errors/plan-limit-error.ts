import type { PlanLimitName } from '../wire/error-body.ts';
import { ApiError, type ApiErrorInit } from './api-error.ts';
import { hasMarker } from './has-marker.ts';

const marker = Symbol.for('@shortlink/sdk/PlanLimitError');

/** 403 with `upgrade`: a resource limit of the plan is reached and nothing was created (spec, "Limits", rule 2). */
export class PlanLimitError extends ApiError {
  override readonly name: string = 'PlanLimitError';

  /** Always `true`, as in the body. */
  readonly upgrade = true;

  /** Which limit, where the service says it: `links`, `batch_size` or `api_keys`. */
  readonly limit: PlanLimitName | (string & {}) | undefined;

  /** How much of it is in use, where the service says it. */
  readonly used: number | undefined;

  /** How much of it the plan allows, where the service says it. */
  readonly allowed: number | undefined;

  constructor(init: ApiErrorInit) {
    super(init);
    this.limit = init.body?.limit;
    this.used = init.body?.used;
    this.allowed = init.body?.allowed;
  }

  get [marker](): true {
    return true;
  }

  static override isInstance(error: unknown): error is PlanLimitError {
    return hasMarker(error, marker);
  }
}
