/**
 * Paths of the service, relative to its base address (spec, "Endpoints" and "Versioning").
 */
export const API_PREFIX = '/api/v1';

/** Every path a client calls. `usage` is an addition of the reference server (DESIGN section 2). */
export const ROUTES = {
  links: `${API_PREFIX}/links`,
  linksBatch: `${API_PREFIX}/links/batch`,
  jobs: `${API_PREFIX}/jobs`,
  usage: `${API_PREFIX}/usage`,
} as const;

/** Path of one batch job: `GET /api/v1/jobs/<job_id>`. */
export function jobPath(jobId: string): string {
  return `${ROUTES.jobs}/${encodeURIComponent(jobId)}`;
}
