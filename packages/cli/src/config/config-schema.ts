import { z } from 'zod';
import { API_KEY_PATTERN, isBaseUrl, PROFILE_PATTERN } from './settings.ts';

const profileSchema = z.strictObject({
  api_key: z.string().regex(API_KEY_PATTERN, 'must be printable ASCII without spaces').optional(),
  base_url: z.string().refine(isBaseUrl, 'must be an absolute http: or https: URL').optional(),
});

/** Strict: a mistyped name would otherwise be ignored. */
const configSchema = z.strictObject({
  profile: z.string().regex(PROFILE_PATTERN).optional(),
  profiles: z.record(z.string().regex(PROFILE_PATTERN), profileSchema).default({}),
});

export type Config = z.infer<typeof configSchema>;

/** The content, or what is wrong with it, in one line. */
export function parseConfig(value: unknown): Config | string {
  const result = configSchema.safeParse(value);
  if (result.success) return result.data;
  // zod's messages don't name the value, which may be an API key in the wrong field.
  const problems = result.error.issues.map(({ path, message }) => {
    return path.length > 0 ? `${path.join('.')}: ${message}` : message;
  });
  return problems.join('; ');
}
