import type { Job } from '../src/wire/batch.ts';
import type { Link } from '../src/wire/link.ts';

export const LINK: Link = {
  id: '0193474e-8a5b-7cc3-a2f1-3f6d2f0f8f11',
  code: 'aB3dE5f',
  short_url: 'https://go.example.com/aB3dE5f',
  target_url: 'https://example.com/docs',
  title: '',
  redirect_type: 302,
  is_active: true,
  click_count: 0,
  tags: [],
  created_at: '2026-11-20T00:00:00.000Z',
};

export const JOB: Job = {
  id: '0193474e-8a5b-7cc3-a2f1-3f6d2f0f8f12',
  status: 'completed',
  total: 1,
  processed: 1,
  results: [{ target_url: LINK.target_url, code: LINK.code, short_url: LINK.short_url }],
};

/** A JSON answer. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return Response.json(body, { status, headers });
}
