import { readFileSync, writeFileSync } from 'node:fs'
import ts from 'typescript'
import { expect, it } from 'vitest'

/** The sections of the page: a heading, a sentence, and the interfaces whose members it lists. */
const sections: readonly (readonly [string, string, readonly string[]])[] = [
  ['Listener', 'Only for `serve`.', ['serve/options.ts ServeOptions']],
  ['Server', 'For `serve`, `server.add`, `createHandler` and `host.add`.', ['core/server/options.ts HandlerOptions']],
  [
    '`auth`',
    "`{ schemes }`, or `auth: 'none'`. See [security](../guides/security.md).",
    ['core/auth/auth.ts AuthOptions'],
  ],
  ['`turns`', 'Times are in milliseconds.', ['core/server/options.ts TurnOptions']],
  [
    '`http`',
    'The last four are for `serve` only.',
    [
      'core/server/options.ts HttpOptions',
      'serve/options.ts ServerHttpOptions',
      'core/node/listen.ts ListenOptions unreadTimeout',
    ],
  ],
  ['`dialects`', 'A list of versions, or:', ['core/server/dialect-options.ts DialectOptions']],
  ['`dialects.house`', 'The house profile of 0.3.', ['core/server/dialect-options.ts HouseOptions']],
  [
    '`dialects.compatibility`',
    'Forms that single 0.3 clients expect.',
    ['core/server/dialect-options.ts CompatibilityOptions'],
  ],
  ['`capabilities`', '', ['core/server/options.ts CapabilityOptions']],
  ['`card`', '', ['core/server/options.ts CardOptions']],
  ['`grpc`', '`true`, or:', ['core/server/options.ts GrpcServerOptions']],
  ['`metrics`', '`true`, or:', ['core/server/metrics-page.ts MetricsOptions']],
  [
    '`limits`',
    'See [security](../guides/security.md).',
    ['core/limits/limits.ts LimitOptions', 'core/limits/limits.ts Quota'],
  ],
  ['`cors`', '`true`, origins, or:', ['core/http/cors.ts CorsOptions']],
  ['`push`', 'See [webhooks](../guides/push.md).', ['core/push/options.ts PushOptions']],
  ['`calls`', 'See [delegation](../guides/delegation.md).', ['core/runtime/calls/options.ts CallsOptions']],
  [
    '`trace`',
    '`false` records nothing. See [traces](../guides/observability.md#the-trace-of-a-task).',
    ['core/runtime/options.ts TraceOptions'],
  ],
  ['`console`', '`false` switches it off.', ['operator/options.ts ConsoleOptions']],
  [
    'Options of `connect`',
    'None is required. See [the client](../guides/client.md).',
    ['core/client/options.ts ConnectOptions', 'core/transports/client/http-client.ts AnswerLimits'],
  ],
  [
    'Options of `client.send` and `client.stream`',
    '',
    ['core/client/send-request.ts SendOptions', 'core/client/options.ts CallOptions'],
  ],
]

it('the tables of options in the docs are up to date (update them with UPDATE_DOCS=1)', () => {
  const page = new URL('../../docs/reference/options.md', import.meta.url)
  const tables = sections.map(([heading, sentence, interfaces]) => {
    const rows = interfaces.flatMap(membersOf).map(({ name, text }) => `| \`${name}\` | ${text} |`)
    return [`## ${heading}`, '', ...(sentence ? [sentence, ''] : []), '| option | |', '|---|---|', ...rows, ''].join(
      '\n',
    )
  })
  const [before, after] = readFileSync(page, 'utf8').split(/(?<=<!-- options -->\n).*(?=<!-- \/options -->)/s)
  const updated = `${before}\n${tables.join('\n')}\n${after}`
  if (process.env.UPDATE_DOCS) writeFileSync(page, updated)
  expect(readFileSync(page, 'utf8')).toBe(updated)
})

it.each(sections.flatMap(([, , interfaces]) => interfaces))('every member of %s says what it does', (source) => {
  expect(membersOf(source).filter(({ text }) => text === '')).toEqual([])
})

interface Member {
  readonly name: string
  readonly text: string
}

/** The members of an interface with their doc comments. The source is a file, a name and perhaps a single member. */
function membersOf(source: string): readonly Member[] {
  const [file = '', name = '', only] = source.split(' ')
  const text = readFileSync(new URL(`../../src/${file}`, import.meta.url), 'utf8')
  const { statements } = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const declaration = statements.find(
    (statement): statement is ts.InterfaceDeclaration =>
      ts.isInterfaceDeclaration(statement) && statement.name.text === name,
  )
  if (!declaration) throw new Error(`${file}: there is no interface ${name}`)
  return declaration.members
    .filter((member) => member.name !== undefined)
    .map((member) => ({ name: member.name?.getText() ?? '', text: commentOf(member) }))
    .filter((member) => only === undefined || member.name === only)
}

function commentOf(member: ts.TypeElement): string {
  const comments = ts.getJSDocCommentsAndTags(member).filter(ts.isJSDoc)
  const text = comments.map(({ comment }) => ts.getTextOfJSDocComment(comment) ?? '').join(' ')
  return text.replace(/\s+/g, ' ').trim().replaceAll('|', '\\|')
}
