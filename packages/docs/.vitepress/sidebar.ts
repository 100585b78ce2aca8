import type { DefaultTheme } from 'vitepress';

/** The pages of the client's reference, in the order of use; each is a file in `topics/`. */
export const SDK_TOPICS = ['client', 'links', 'jobs', 'bulk', 'usage', 'options', 'errors'];

/** Every page that a reader looks for, in reading order. `llms.txt` has the same order. */
export const sidebar: DefaultTheme.SidebarItem[] = [
  {
    text: 'Begin',
    items: [
      { text: 'Why Shortlink', link: '/start/why' },
      { text: 'Install', link: '/start/install' },
      { text: 'Five minutes with the SDK', link: '/start/sdk' },
      { text: 'Five minutes with the command line', link: '/start/cli' },
      { text: 'Five minutes with your own server', link: '/start/server' },
      { text: 'When something is wrong', link: '/troubleshooting' },
    ],
  },
  {
    text: 'Importing files',
    items: [
      { text: 'The first import', link: '/importing/first-import' },
      { text: 'Growing files', link: '/importing/growing-files' },
      { text: 'A new file each week', link: '/importing/weekly' },
      { text: 'Excel', link: '/importing/excel' },
      { text: 'In CI', link: '/importing/ci' },
      { text: 'Pull requests and protected branches', link: '/importing/pull-requests' },
      { text: 'Rejects and failed rows', link: '/importing/rejects' },
      { text: 'Plans and quotas', link: '/importing/plans' },
      { text: 'Verifying links', link: '/importing/verify' },
      { text: 'Settings and profiles', link: '/cli/settings' },
      { text: 'Scripts and agents', link: '/cli/scripts' },
    ],
  },
  {
    text: 'The SDK in depth',
    items: [
      { text: 'Retries and exactly once', link: '/sdk/exactly-once' },
      { text: 'Options and pacing', link: '/sdk/options' },
      { text: 'Errors', link: '/sdk/errors' },
      { text: 'Many links and jobs', link: '/sdk/bulk' },
      { text: 'Runs that can be resumed', link: '/sdk/resume' },
      { text: 'Testing your code', link: '/sdk/testing' },
      { text: 'OpenTelemetry', link: '/sdk/opentelemetry' },
      { text: 'Runtimes and size', link: '/sdk/runtimes' },
    ],
  },
  {
    text: 'Running in production',
    items: [
      { text: 'Checklist', link: '/production/' },
      { text: 'systemd', link: '/production/systemd' },
      { text: 'Docker', link: '/production/docker' },
      { text: 'Proxies and custom domains', link: '/production/proxies' },
      { text: 'PostgreSQL', link: '/production/postgresql' },
      { text: 'Sizing', link: '/production/sizing' },
      { text: 'Monitoring', link: '/production/monitoring' },
      { text: 'Upgrade', link: '/production/upgrade' },
      { text: 'Backup and restore', link: '/production/backup' },
      { text: 'Accounts, keys and links', link: '/production/operating' },
      { text: 'Moving house', link: '/production/moving' },
      { text: 'Security', link: '/production/security' },
      { text: 'Checking a server', link: '/conformance' },
    ],
  },
  {
    text: 'Reference',
    items: [
      { text: 'shortlink', link: '/reference/cli' },
      { text: 'shortlink-server', link: '/reference/server' },
      { text: 'HTTP API', link: '/reference/http-api' },
      { text: 'Settings', link: '/reference/settings' },
      { text: 'Plans and limits', link: '/reference/plans' },
      { text: 'Error codes', link: '/reference/error-codes' },
      { text: 'Exit codes', link: '/reference/exit-codes' },
      { text: 'Size', link: '/reference/size' },
      { text: 'Changes', link: '/reference/changes' },
    ],
  },
  {
    text: '@shortlink/sdk',
    items: [
      ...SDK_TOPICS.map((topic) => ({
        text: `${topic.slice(0, 1).toUpperCase()}${topic.slice(1)}`,
        link: `/reference/library/sdk/${topic}`,
      })),
      { text: '@shortlink/sdk/wire', link: '/reference/library/@shortlink/sdk/wire' },
    ],
  },
  {
    text: '@shortlink/server',
    items: [
      { text: '@shortlink/server', link: '/reference/library/@shortlink/server' },
      { text: '@shortlink/server/testing', link: '/reference/library/@shortlink/server/testing' },
      {
        text: '@shortlink/server/testing/msw',
        link: '/reference/library/@shortlink/server/testing/msw',
      },
      { text: '@shortlink/server/browser', link: '/reference/library/@shortlink/server/browser' },
    ],
  },
];
