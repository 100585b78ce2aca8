import { ApiError, type ApiErrorInit } from './api-error.ts';
import { AuthenticationError } from './authentication-error.ts';
import { BadRequestError } from './bad-request-error.ts';
import { NotFoundError } from './not-found-error.ts';
import { PermissionError } from './permission-error.ts';
import { PlanLimitError } from './plan-limit-error.ts';
import { RateLimitError } from './rate-limit-error.ts';
import { ServerError } from './server-error.ts';

/** Which class a status becomes; 403 with `upgrade` and 5xx besides, below. */
const CLASS_BY_STATUS: Readonly<Record<number, typeof ApiError>> = {
  400: BadRequestError,
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  429: RateLimitError,
};

/** The error of an answer that is not 2xx (spec, "Errors"). */
export function createApiError(init: ApiErrorInit): ApiError {
  if (init.status === 403 && init.body?.upgrade === true) return new PlanLimitError(init);
  if (init.status >= 500) return new ServerError(init);
  const Class = CLASS_BY_STATUS[init.status] ?? ApiError;
  return new Class(init);
}
