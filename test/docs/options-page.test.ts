import { readFileSync, writeFileSync } from 'node:fs'
import ts from 'typescript'
import { expect, it } from 'vitest'

/** The sections of the page: a heading, a sentence, and the interfaces whose members it lists. */
const sections: readonly (readonly [string, string, readonly string[]])[] = [
  ['Listener', 'Only for `serve`.', ['serve-options.ts ServeOptions']],
  ['Server', 'For `serve`, `server.add`, `createHandler` and `host.add`.', ['server/options.ts HandlerOptions']],
  ['`auth`', "`{ schemes }`, or `auth: 'none'`. See [security](../guides/security.md).", ['auth/auth.ts AuthOptions']],
  ['`turns`', 'Times are in milliseconds.', ['server/options.ts TurnOptions']],
  [
    '`http`',
    'The last four are for `serve` only.',
    [
      'server/options.ts HttpOptions',
      'serve-options.ts ServerHttpOptions',
      'node/listen.ts ListenOptions unreadTimeout',
    ],
  ],
  ['`dialects`', 'A list of versions, or:', ['server/dialect-options.ts DialectOptions']],
  ['`dialects.house`', 'The house profile of 0.3.', ['server/dialect-options.ts HouseOptions']],
  [
    '`dialects.compatibility`',
    'Forms that single 0.3 clients expect.',
    ['server/dialect-options.ts CompatibilityOptions'],
  ],
  ['`capabilities`', '', ['server/options.ts CapabilityOptions']],
  ['`card`', '', ['server/options.ts CardOptions']],
  ['`grpc`', '`true`, or:', ['server/options.ts GrpcServerOptions']],
  ['`metrics`', '`true`, or:', ['server/metrics-page.ts MetricsOptions']],
  ['`limits`', 'See [security](../guides/security.md).', ['limits/limits.ts LimitOptions', 'limits/limits.ts Quota']],
  ['`cors`', '`true`, origins, or:', ['http/cors.ts CorsOptions']],
  ['`push`', 'See [webhooks](../guides/push.md).', ['push/options.ts PushOptions']],
  ['`calls`', 'See [delegation](../guides/delegation.md).', ['runtime/calls/options.ts CallsOptions']],
  ['`console`', '`false` switches it off.', ['server/operator/options.ts ConsoleOptions']],
  [
    'Options of `connect`',
    'None is required. See [the client](../guides/client.md).',
    ['client/options.ts ConnectOptions', 'transports/client/http-client.ts AnswerLimits'],
  ],
  [
    'Options of `client.send` and `client.stream`',
    '',
    ['client/send-request.ts SendOptions', 'client/options.ts CallOptions'],
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
