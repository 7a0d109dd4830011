/**
 * The Python that PyTorch is installed for.
 *
 * @module
 */

/** The first Python that has PyTorch: `python3` of the search path, else Debian's own, which python3-torch belongs to. */
export function pythonWithTorch(): string | undefined {
  const code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)";
  return ["python3", "/usr/bin/python3"].find((python) => {
    try {
      return new Deno.Command(python, { args: ["-c", code], stderr: "null" }).outputSync().success;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return false;
      throw error;
    }
  });
}
