import { type Application, type Context, Converter } from 'typedoc'
import ts from 'typescript'

/**
 * A plugin of TypeDoc: options types that are not exported are shown as the parameters of their functions, because they
 * have no page of their own.
 */
export function load({ converter }: Application): void {
  converter.on(Converter.EVENT_BEGIN, (context: Context) => {
    for (const name of unexportedOptions(context.programs)) context.inlineType.add(name)
  })
}

/** The names of the options types of exported functions, without those that are exported themselves. */
function unexportedOptions(programs: readonly ts.Program[]): ReadonlySet<string> {
  const exported = new Set<string>()
  const options = new Set<string>()
  for (const program of programs) {
    const checker = program.getTypeChecker()
    for (const file of program.getSourceFiles().filter(({ fileName }) => fileName.includes('/src/entries/'))) {
      const module = checker.getSymbolAtLocation(file)
      for (const symbol of module ? checker.getExportsOfModule(module) : []) {
        exported.add(symbol.name)
        const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
        for (const name of parameterTypesOf(target, checker)) if (name.endsWith('Options')) options.add(name)
      }
    }
  }
  return new Set([...options].filter((name) => !exported.has(name)))
}

function parameterTypesOf(symbol: ts.Symbol, checker: ts.TypeChecker): readonly string[] {
  if (!symbol.valueDeclaration) return []
  const type = checker.getTypeOfSymbol(symbol)
  return [...type.getCallSignatures(), ...type.getConstructSignatures()].flatMap(({ parameters }) =>
    parameters.map((parameter) => {
      const { aliasSymbol, symbol: declared } = checker.getNonNullableType(checker.getTypeOfSymbol(parameter))
      return (aliasSymbol ?? declared)?.name ?? ''
    }),
  )
}
