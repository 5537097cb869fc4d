# SPDX-License-Identifier: Apache-2.0
"""Class folders of JPEG files made from photographs: a class is a photograph,
its samples are different crops of it, scaled, mirrored and lit differently,
each of about the size in bytes that ImageNet's files have."""
import io
import math
import multiprocessing
import pathlib
import random
import sys

from PIL import Image, ImageEnhance

PACKAGES = ("lomiri-wallpapers-16.04", "mate-backgrounds")  # Debian's
PHOTOS = pathlib.Path("/usr/share/backgrounds")
DRAWN = {"abstract", "desktop"}  # folders of pictures that are none
LEAST_SIDE = 1000  # pixels of a photograph
MEAN, SIGMA = 110_000, 0.3  # of the lognormal sizes, bytes
WIDTH, HEIGHT = 512, 384
QUALITY = 92


def photographs(folder):
    """Paths of those that are large enough."""
    found = []
    for path in sorted(folder.rglob("*.jpg")):
        if DRAWN & set(path.relative_to(folder).parts):
            continue
        with Image.open(path) as image:
            if image.mode == "RGB" and min(image.size) >= LEAST_SIDE:
                found.append(path)
    if len(found) < 2:
        sys.exit(f"{folder}: no two photographs of {LEAST_SIDE} pixels; "
                 f"install the Debian packages {' '.join(PACKAGES)}, or give "
                 "--photos FOLDER")
    return found


def crop(photo, rng):
    """A part of it, of 5 to 25 % of its area."""
    share = math.sqrt(rng.uniform(0.05, 0.25))
    width = int(min(photo.width, photo.height * WIDTH / HEIGHT) * share * 1.4)
    height = width * HEIGHT // WIDTH
    left = rng.randrange(max(1, photo.width - width))
    top = rng.randrange(max(1, photo.height - height))
    part = photo.crop((left, top, left + width, top + height))
    if rng.random() < 0.5:
        part = part.transpose(Image.FLIP_LEFT_RIGHT)
    return ImageEnhance.Brightness(part).enhance(rng.uniform(0.8, 1.2))


def encode(part, width, height):
    buffer = io.BytesIO()
    part.resize((width, height), Image.BILINEAR).save(buffer, "JPEG",
                                                      quality=QUALITY)
    return buffer.getvalue()


def sized(part, wanted):
    """JPEG data of about `wanted` bytes: smooth parts get more pixels."""
    scale = 1.0
    for _ in range(4):
        data = encode(part, int(WIDTH * scale), int(HEIGHT * scale))
        if abs(len(data) / wanted - 1) < 0.1:
            break
        # What is enlarged gains less than it gains pixels.
        scale = min(3.0, max(0.4, scale * (wanted / len(data)) ** 0.7))
    return data


def make_class(job):
    """Names and contents of the files of one photograph."""
    path, first, count = job
    rng = random.Random(f"{path.name} {first} {count}")
    with Image.open(path) as image:
        photo = image.convert("RGB")
    files = []
    for i in range(first, first + count):
        wanted = rng.lognormvariate(math.log(MEAN) - SIGMA * SIGMA / 2, SIGMA)
        files.append((f"{i * 7919 % 1000003:09d}.jpg",
                      sized(crop(photo, rng), wanted)))
    return files


def write_tree(root, count, photos):
    """`count` files below root/train/, as many of each photograph, written
    class by class."""
    paths = photographs(photos)
    bounds = [count * k // len(paths) for k in range(len(paths) + 1)]
    jobs = [(path, bounds[k], bounds[k + 1] - bounds[k])
            for k, path in enumerate(paths)]
    with multiprocessing.Pool() as pool:
        for k, files in enumerate(pool.imap(make_class, jobs)):
            folder = root / "train" / f"{k:02d}-{paths[k].stem}"
            folder.mkdir(parents=True)
            for name, data in files:
                (folder / name).write_bytes(data)
