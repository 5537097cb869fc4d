// SPDX-License-Identifier: Apache-2.0
// Real layouts of training data, built as real trees: may their names move,
// which rule says so, and what is a split in them.
#include "tests/core/formats/layouts.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "core/dataset/splits.h"
#include "core/dataset/substitution_safety.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

using namespace testing_support;  // the table's words

// Whether any component of the path is a split.
bool IsInSplit(absl::string_view path) {
  const std::vector<absl::string_view> names = absl::StrSplit(path, '/');
  return std::any_of(names.begin(), names.end(), IsSplitName);
}

Paths TwoClasses() {
  return Scattered("cat/%05d.png", 0) + Scattered("dog/%05d.png", 1);
}

Paths TrainAndVal() {
  return Scattered("train/cat/%d.jpg", 0) + Scattered("train/dog/%d.jpg", 1) +
         Scattered("val/cat/%d.jpg", 2) + Scattered("val/dog/%d.jpg", 0);
}

std::vector<TreeLayout> ClassFolders() {
  return {
      Moves("ClassFolders", TwoClasses(), 2),
      Moves("NestedTrainAndVal", TrainAndVal(), 2)
          .Validation()
          .Splits({"val", "val/cat/2.jpg"}, {"train", "train/cat/0.jpg"}),
      Moves("ViewOfTrainBesideVal", TrainAndVal(), 2)
          .View("train")
          .Validation(),
      Stays("ViewOfVal", TrainAndVal(), "val/ is in a split")
          .View("val")
          .Validation(),
      Moves("TestIsNoValidation", TwoClasses() + Scattered("test/%d.png", 0), 2)
          .Splits({"test"}, {"cat"}),
      Moves("DesktopLitter",
            TwoClasses() + Paths{"cat/.DS_Store", "dog/Thumbs.db", "README.md",
                                 "LICENSE.txt", "__MACOSX/cat/x.json",
                                 ".git/config.txt"},
            2),
      Moves(
          "ImageNetSynsets",
          Numbered("train/n01440764/n01440764_%d.JPEG",
                   {10026, 10027, 18, 936}) +
              Numbered("train/n01443537/n01443537_%d.JPEG", {10007, 2, 10014}),
          2),
      Moves("Identities",
            {"ids/Ada_Lovelace/x9f.jpg", "ids/Ada_Lovelace/k2.jpg",
             "ids/Alan_Turing/b77.jpg", "ids/Alan_Turing/q.jpg"},
            2),
      Moves("ClassesAtSeveralDepths",
            {"a/abbey/s1a.jpg", "a/abbey/s2b.jpg", "a/airport/inside/s3c.jpg",
             "a/airport/inside/s9.jpg", "a/airport/outside/s4d.jpg",
             "b/bank/s5e.jpg", "b/barn/s6f.jpg"},
            5),
      Moves("NumberedClasses",
            {"class1/q.jpg", "class1/z.jpg", "class2/u.jpg", "class2/k.jpg"},
            2),
      Moves("AFewEndings",
            {"cat/1.jpg", "cat/1_crop.jpg", "cat/40.jpg", "cat/77.jpg",
             "dog/5_front.jpg", "dog/9_front.jpg", "dog/8_side.jpg"},
            2),
      Moves("SpeechClasses",
            {"yes/0a7c2a8d_nohash_0.wav", "yes/1b4c9b89_nohash_0.wav",
             "no/4d2b3af1_nohash_0.wav", "no/0132a06d_nohash_1.wav"},
            2),
  };
}

std::vector<TreeLayout> TextClassFolders() {
  return {
      Moves("TwentyNewsgroups",
            Numbered("20news-bydate-train/alt.atheism/%d",
                     {49960, 51060, 51119}) +
                Numbered("20news-bydate-train/sci.med/%d",
                         {57110, 58054, 58055}) +
                Numbered("20news-bydate-test/sci.med/%d", {59195, 59200}),
            2)
          .Splits({"20news-bydate-test", "20news-bydate-test/sci.med"},
                  {"20news-bydate-train", "20news-bydate-train/sci.med"}),
      Moves("SpamAndHam",
            {"easy_ham/00001.7c53336b37003a9286aba55d2945844c",
             "easy_ham/00002.9c4069e25e1ef370c078db7ee85ff9ac",
             "easy_ham/00003.860e3c3cee1b42ead714c5c874fe25f7",
             "spam/00001.317e78fa8ee2f54cd4890fdc09ba8176",
             "spam/00002.9438920e9a55591b18e60d1ed37d992b"},
            2),
      Moves(
          "Reviews",
          {"pos/cv000_29590.txt", "pos/cv001_18431.txt", "pos/cv002_15918.txt",
           "neg/cv000_29416.txt", "neg/cv001_19502.txt", "neg/cv002_17424.txt"},
          2),
      Stays("ImdbUrls",
            {"train/pos/0_9.txt", "train/pos/7_8.txt", "train/neg/1_1.txt",
             "train/neg/3_2.txt", "train/urls_pos.txt"},
            "train/urls_pos.txt may be a list"),
      Stays("TextListAmongTexts",
            {"pos/qa.txt", "pos/zb.txt", "neg/cc.txt", "neg/file_list.txt"},
            "neg/file_list.txt is a list by its name"),
  };
}

std::vector<TreeLayout> WithManifests() {
  return {
      Stays(
          "Coco",
          {"train2017/000000000009.jpg", "train2017/000000000025.jpg",
           "val2017/000000000139.jpg", "annotations/instances_train2017.json"},
          "annotations/instances_train2017.json may refer")
          .Validation()
          .Splits({"val2017"}, {"train2017", "annotations"}),
      Stays("CocoTrainView",
            {"train2017/a/000000000009.jpg", "train2017/b/000000000025.jpg",
             "annotations/instances.json"},
            "annotations/ annotates other files")
          .View("train2017"),
      Stays("CelebA",
            {"img_align_celeba/000001.jpg", "img_align_celeba/000002.jpg",
             "list_attr_celeba.csv", "list_eval_partition.csv"},
            "list_attr_celeba.csv may refer")
          .Splits({"list_eval_partition.csv"}, {"list_attr_celeba.csv"}),
      Stays("LibriSpeech",
            {"train-clean-100/103/1240/103-1240-0000.flac",
             "train-clean-100/103/1240/103-1240-0001.flac",
             "train-clean-100/103/1240/103-1240.trans.txt",
             "dev-clean/84/121123/84-121123-0000.flac", "README.TXT"},
            "103-1240.trans.txt may be a list")
          .Validation()
          .Splits({"dev-clean"}, {"train-clean-100"}),
      Stays("SpeechCommandsLists",
            {"yes/0a7c2a8d_nohash_0.wav", "yes/1b4c_nohash_0.wav",
             "no/4d2b_nohash_0.wav", "no/0132_nohash_1.wav", "README.md",
             "testing_list.txt", "validation_list.txt"},
            "testing_list.txt may refer")
          .Splits({"testing_list.txt", "validation_list.txt"}, {"yes"}),
      Stays("Gtsrb",
            {"Final_Training/Images/00000/00000_00003.ppm",
             "Final_Training/Images/00000/00001_00017.ppm",
             "Final_Training/Images/00000/GT-00000.csv",
             "Final_Training/Images/00001/00002_00009.ppm"},
            "GT-00000.csv may refer"),
      Stays("Voc",
            {"VOC2012/Annotations/2007_000027.xml",
             "VOC2012/ImageSets/Main/aeroplane_train.txt",
             "VOC2012/JPEGImages/2007_000027.jpg",
             "VOC2012/SegmentationClass/2007_000032.png"},
            "VOC2012/Annotations/2007_000027.xml may refer"),
      Stays("MetadataJsonl", TwoClasses() + Paths{"cat/metadata.jsonl"},
            "cat/metadata.jsonl may refer"),
  };
}

std::vector<TreeLayout> WithSmallManifests() {
  return {
      Stays("INaturalistsOwnDirectory",
            Scattered("train_val2019/Birds/%d.jpg", 0) +
                Scattered("train_val2019/Fungi/%d.jpg", 1) +
                Paths{"train2019.json"},
            "train_val2019/ is in a split")
          .View("train_val2019")
          .Validation(),
      Stays("INaturalist",
            Scattered("images/Birds/%d.jpg", 0) +
                Scattered("images/Fungi/%d.jpg", 1) + Paths{"train2019.json"},
            "train2019.json may refer")
          .View("images"),
      Stays("LjSpeech",
            {"wavs/LJ001-0001.wav", "wavs/LJ001-0003.wav", "metadata.csv"},
            "metadata.csv may refer"),
      Stays("ClassNames", TwoClasses() + Paths{"classes.txt"},
            "classes.txt may be a list"),
      Stays("Checksums", TwoClasses() + Paths{"SHA256SUMS"},
            "SHA256SUMS may refer"),
      Stays("AudioAndLab",
            {"a/x1.wav", "a/x1.lab", "a/q7.wav", "a/q7.lab", "b/r.wav",
             "b/r.lab"},
            ".lab may refer"),
      Stays("OxfordPets",
            {"images/Abyssinian_1.jpg", "images/Abyssinian_100.jpg",
             "images/beagle_7.jpg", "annotations/trimaps/Abyssinian_1.png",
             "annotations/list.txt"},
            "annotations/list.txt may be a list"),
  };
}

std::vector<TreeLayout> WithSidecars() {
  return {
      Stays("Yolo",
            {"images/train/000009.jpg", "images/train/000025.jpg",
             "images/val/000139.jpg", "labels/train/000009.txt",
             "labels/train/000025.txt", "labels/val/000139.txt"},
            "labels/train/000009.txt may be a list")
          .Validation()
          .Splits({"images/val", "labels/val"}, {"images/train"}),
      Stays("YoloImagesOnly",
            {"images/train/a/09.jpg", "images/train/b/25.jpg",
             "labels/train/a/09.txt"},
            "labels/ annotates other files")
          .View("images/train"),
      Stays("Masks",
            {"data/images/a7.png", "data/images/b1.png", "data/masks/a7.png",
             "data/masks/b1.png"},
            "data/masks/ annotates other files"),
      Stays("PairsByStem",
            {"photo/a7.png", "photo/b1.png", "photo/c.png", "outline/a7.png",
             "outline/b1.png", "outline/c.png"},
            "outline/ and photo/ share the names of 3 files"),
      Stays("PairsElsewhereInTheSource",
            {"rgb/x/a7.png", "rgb/x/b1.png", "rgb/y/c.png", "depth/x/a7.png",
             "depth/x/b1.png"},
            "depth/x/ and rgb/x/ share the names of 2 files")
          .View("rgb"),
      Stays("Cityscapes",
            {"leftImg8bit/train/aachen/aachen_000000_000019_leftImg8bit.png",
             "leftImg8bit/train/aachen/aachen_000007_000019_leftImg8bit.png",
             "leftImg8bit/train/bochum/bochum_000000_000313_leftImg8bit.png",
             "leftImg8bit/val/lindau/lindau_000000_000019_leftImg8bit.png",
             "gtFine/train/aachen/aachen_000000_000019_gtFine_labelIds.png",
             "gtFine/train/aachen/aachen_000007_000019_gtFine_labelIds.png",
             "gtFine/train/bochum/bochum_000000_000313_gtFine_labelIds.png"},
            "gtFine/ annotates other files")
          .Validation()
          .Splits({"leftImg8bit/val"}, {"leftImg8bit/train", "gtFine/train"}),
  };
}

std::vector<TreeLayout> WithHiddenSidecars() {
  return {
      Stays("PairsByStemAndEnding",
            {"sharp/aachen_07_leftImg.png", "sharp/bochum_31_leftImg.png",
             "sharp/ulm_9_leftImg.png", "blurred/aachen_07_x2.png",
             "blurred/bochum_31_x2.png", "blurred/ulm_9_x2.png"},
            "share the names of 3 files but for a common ending"),
      Stays("Div2k",
            Numbered("DIV2K_train_HR/%04d.png", {1, 5, 9, 700}) +
                Numbered("DIV2K_train_LR/%04dx2.png", {1, 5, 9, 700}),
            "DIV2K_train_HR/ and DIV2K_train_LR/ share the names of 4 files"),
      Stays("Stereo",
            Numbered("a/left_%d.png", {3, 8, 11, 40}) +
                Numbered("b/right_%d.png", {3, 8, 11, 40}),
            "a/ and b/ share all names but for a common beginning"),
      Stays("MirroredTrees",
            {"clean/spk1/q.wav", "clean/spk1/r.wav", "clean/spk2/s.wav",
             "clean/spk2/t.wav", "noisy/spk1/u.wav", "noisy/spk1/v.wav",
             "noisy/spk2/w.wav", "noisy/spk2/x.wav"},
            "clean/ and noisy/ mirror each other file by file"),
      Stays("ImageAndMaskInOneDirectory",
            {"benign/benign (1).png", "benign/benign (1)_mask.png",
             "benign/benign (4).png", "benign/benign (4)_mask.png",
             "benign/benign (4)_mask_1.png", "malignant/malignant (2).png",
             "malignant/malignant (2)_mask.png", "normal/normal (7).png",
             "normal/normal (9).png"},
            "benign/ has 4 files that differ from others only in an ending"),
      Stays("StereoInOneDirectory",
            {"indoor/17_left.png", "indoor/17_right.png", "indoor/3_left.png",
             "indoor/3_right.png", "outdoor/8_left.png"},
            "indoor/ has 4 files that differ"),
      Stays("LabelsInNames",
            {"bounding_box_train/0001_c2_f0046182.jpg",
             "bounding_box_train/0437_c5_f0046985.jpg",
             "query/0005_c2_f0046985.jpg", "query/0009_c1_f0046000.jpg",
             "bounding_box_test/0003_c1_f1.jpg"},
            "query/ is of a set with labels in its names"),
      Stays("PartsOfOneSet",
            {"part1/26_0_1_2017.jpg", "part1/30_1_0_2018.jpg",
             "part2/7_0_0_2019.jpg", "part2/81_1_2_2016.jpg"},
            "is a part of a set by its name, no class"),
      Stays("Kitti",
            Consecutive("training/image_2/%06d.png", 0, 5) +
                Consecutive("training/label_2/%06d.txt", 0, 5) +
                Consecutive("testing/image_2/%06d.png", 0, 5),
            "training/label_2/000000.txt may be a list")
          .Splits({"testing/image_2"}, {"training/image_2"}),
  };
}

std::vector<TreeLayout> WithoutClasses() {
  return {
      Stays("VideoFrames",
            Consecutive("clip1/frame_%04d.jpg", 1, 30) +
                Consecutive("clip2/frame_%04d.jpg", 40, 9),
            "the names in clip1/ are one sequence"),
      Stays("FramesWithTwoFilesEach",
            Consecutive("clip1/clip1_%04d.jpg", 1, 9) +
                Consecutive("clip1/clip1_%04d.png", 1, 9) +
                Consecutive("clip2/clip2_%04d.jpg", 40, 7),
            "the names in clip1/ are one sequence"),
      Stays("FramesWithGaps",
            Consecutive("a/%06d.jpg", 1, 40) +
                Consecutive("a/%06d.jpg", 43, 40) +
                Scattered("b/%06d.jpg", 1000),
            "the names in a/ are one sequence"),
      Stays("PlainRunsPerClass",
            Consecutive("AnnualCrop/AnnualCrop_%d.jpg", 1, 20) +
                Consecutive("Forest/Forest_%d.jpg", 1, 20),
            "the names in AnnualCrop/ are one sequence"),
      Stays("SingleClass", Scattered("cat/%d.jpg", 0), "no class folders"),
      Stays("Flat", Scattered("%d.jpg", 0), "all samples are in one folder"),
      Stays("Market1501",
            {"bounding_box_train/0002_c1s1_000451_03.jpg",
             "bounding_box_train/0002_c1s1_000551_01.jpg",
             "bounding_box_test/0000_c1s1_000151_01.jpg"},
            "no class folders")
          .Splits({"bounding_box_test"}, {"bounding_box_train"}),
      Stays("ImageNetValFlat",
            {"ILSVRC2012_val_00000001.JPEG", "ILSVRC2012_val_00000002.JPEG"},
            "nothing outside splits")
          .Splits({"ILSVRC2012_val_00000001.JPEG"}, {}),
      Stays("MixedMedia", {"a/q.jpg", "a/z.jpg", "b/u.wav", "b/k.wav"},
            "a mix of media"),
      Stays("CaptionsBesideImages",
            {"a/q.jpg", "a/q.txt", "b/u.jpg", "b/u.txt"},
            "a/q.txt may be a list"),
      Stays("FilesBesideClasses",
            {"a/q.jpg", "a/z.jpg", "b/u.jpg", "b/k.jpg", "extra.jpg"},
            "extra.jpg lies beside directories"),
      Stays("UnknownKind", {"a/q.xyz", "a/z.xyz", "b/u.xyz"},
            "a/q.xyz is not a known media type"),
      Stays("NothingToExchange", {"a/q.jpg", "b/u.jpg"},
            "no directory holds two samples"),
      Stays("Empty", {}, "nothing outside splits"),
  };
}

std::vector<TreeLayout> Containers() {
  return {
      Stays("ImageNetTfRecords",
            {"train-00000-of-01024", "train-00001-of-01024",
             "validation-00000-of-00128"},
            "train-00000-of-01024 is a container")
          .Splits({"validation-00000-of-00128"}, {"train-00000-of-01024"}),
      Stays("HuggingFaceParquet",
            {"data/train-00000-of-00002.parquet",
             "data/train-00001-of-00002.parquet",
             "data/test-00000-of-00001.parquet", "README.md"},
            "data/train-00000-of-00002.parquet is a container")
          .Splits({"data/test-00000-of-00001.parquet"},
                  {"data/train-00000-of-00002.parquet"}),
      Stays("WebDataset",
            {"imagenet-train-000000.tar", "imagenet-train-000001.tar",
             "imagenet-val-0001.tar"},
            "imagenet-train-000000.tar is a container")
          .Splits({"imagenet-val-0001.tar"}, {"imagenet-train-000000.tar"}),
      Stays("NpzPerCase", {"a/case_7.npz", "a/case_9.npz", "b/case_3.npz"},
            "a/case_7.npz is a container"),
      Stays("Lmdb", {"train/data.mdb", "train/lock.mdb"},
            ".mdb is a container"),
      Stays("Zarr", {"a/x.zarr/0.0", "a/x.zarr/0.1", "a/y.zarr/0.0"},
            "a/x.zarr/ is one container"),
      Stays("Libsvm", {"a9a", "a9a.t"}, "all samples are in one folder")
          .Splits({"a9a.t"}, {"a9a"}),
      Stays("CifarBinary",
            {"data_batch_1.bin", "data_batch_2.bin", "test_batch.bin",
             "batches.meta.txt"},
            "batches.meta.txt may be a list")
          .Splits({"test_batch.bin"}, {"data_batch_1.bin"}),
      Stays("MnistIdx",
            {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
             "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"},
            "all samples are in one folder")
          .Splits({"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"},
                  {"train-images-idx3-ubyte"}),
  };
}

class LayoutsTest : public ::testing::TestWithParam<TreeLayout> {};

std::string NameOfCase(const ::testing::TestParamInfo<TreeLayout>& info) {
  return info.param.name;
}

std::vector<TreeLayout> AllLayouts() {
  std::vector<TreeLayout> all;
  for (auto table :
       {ClassFolders, TextClassFolders, WithManifests, WithSmallManifests,
        WithSidecars, WithHiddenSidecars, WithoutClasses, Containers}) {
    for (TreeLayout& layout : table()) all.push_back(std::move(layout));
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, LayoutsTest, ::testing::ValuesIn(AllLayouts()),
                         NameOfCase);

// [S-3.4a] By default names show other samples only where class folders are
// proven.
TEST_P(LayoutsTest, IsJudged) {
  const TreeLayout& layout = GetParam();
  TempTree tree;
  tree.Files(layout.files);
  Catalogue catalogue = tree.Scanned();
  absl::optional<DirId> root = catalogue.FindDir(layout.view);
  ASSERT_TRUE(root.has_value());
  SubstitutionSafety verdict =
      Judge(catalogue, *root, SubstitutionSafetyOptions());
  EXPECT_EQ(verdict.moves, layout.moves) << verdict.reason;
  EXPECT_THAT(verdict.reason, ::testing::HasSubstr(layout.reason));
  EXPECT_EQ(verdict.has_validation_split, layout.validation);
  if (layout.moves) {
    EXPECT_EQ(verdict.classes, layout.classes);
    EXPECT_THAT(verdict.layout, ::testing::HasSubstr("class folders"));
  }
  for (const std::string& path : layout.splits) {
    EXPECT_TRUE(IsInSplit(path)) << path;
  }
  for (const std::string& path : layout.nosplits) {
    EXPECT_FALSE(IsInSplit(path)) << path;
  }
}

}  // namespace
}  // namespace shufflefs
